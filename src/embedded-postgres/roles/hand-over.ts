import type pg from 'pg';
import { SluiceError } from '../../errors.ts';
import { ADMIN, OWNER } from './role-names.ts';
import { withSession } from './session.ts';

/** The owner's name until it owns everything. */
export const NEXT_OWNER = 'sluice_next_owner';

/**
 * Gives everything that the superuser of an earlier version created to `owner`, in every database. Each statement is a transaction of
 * its own, so that it waits for a process that is reading, and never deadlocks with it.
 */
export async function handOver(admin: pg.Client, urlOf: (database: string) => string, owner: string): Promise<void> {
  const { rows } = await admin.query<{ name: string }>(
    "select datname as name from pg_database where datallowconn and not datistemplate and datname <> 'postgres'",
  );
  for (const { name } of rows) {
    await admin.query(`alter database ${admin.escapeIdentifier(name)} owner to ${owner}`);
    await withSession(urlOf(name), async session => {
      await session.query("set lock_timeout = '20s'; set search_path = ''");
      const { rows } = await session.query<{ statement: string }>(STATEMENTS, [owner]);
      for (const { statement } of rows) await session.query(statement).catch(error => explainLock(error, name));
    });
  }
}

/** 55P03: the lock was not available. */
function explainLock(error: unknown, database: string): never {
  if ((error as { code?: string }).code !== '55P03') throw error;
  const message = `The tables of the embedded Postgres (database ${database}) must get a new owner, once, but another process keeps one of them locked.`;
  throw new SluiceError('database', message, {
    next: 'Stop the other sluice processes and sessions of psql, or wait until they have finished, then repeat the command.',
    cause: error,
  });
}

/** Both renames in one transaction: at every moment there is a login `sluice` with the same password. */
export async function renameRoles(admin: pg.Client, verifier: string): Promise<void> {
  await admin.query('begin');
  // A session may not rename its own user.
  await admin.query('create role sluice_renaming superuser');
  await admin.query('set local session authorization sluice_renaming');
  await admin.query(`alter role ${OWNER} rename to ${ADMIN}`);
  await admin.query(`alter role ${NEXT_OWNER} rename to ${OWNER}`);
  await admin.query('reset session authorization');
  await admin.query('drop role sluice_renaming');
  await admin.query(`alter role ${ADMIN} password '${verifier}'`);
  await admin.query('commit');
}

// Objects of initdb have ids below 16384. Members of extensions stay with the extension; indexes, and sequences of columns,
// follow their table. What others were promised of future tables, the new owner promises too.
const STATEMENTS = `
  with mine as (select oid as me from pg_roles where rolname = current_user),
  movable as (
    select 'pg_namespace'::regclass as class, oid, 1 as rank, format('schema %I', nspname) as name
    from pg_namespace, mine where nspowner = me
    union all
    select 'pg_class'::regclass, c.oid, 2, format('%s %s',
      case relkind when 'v' then 'view' when 'm' then 'materialized view' when 'S' then 'sequence'
        when 'f' then 'foreign table' when 'c' then 'type' else 'table' end, c.oid::regclass)
    from pg_class c, mine
    where relowner = me and relkind in ('r', 'p', 'v', 'm', 'f', 'S', 'c')
      and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and relkind = 'S'
        and d.refclassid = 'pg_class'::regclass and d.deptype in ('a', 'i'))
      and not exists (select from pg_namespace n where n.oid = relnamespace and n.nspname ~ '^pg_(toast|temp)')
    union all
    select 'pg_proc'::regclass, p.oid, 2, format('routine %s', p.oid::regprocedure) from pg_proc p, mine where proowner = me
    union all
    select 'pg_type'::regclass, t.oid, 2, format('type %s', t.oid::regtype) from pg_type t, mine
    where typowner = me and typtype in ('d', 'e', 'r'))
  select format('alter %s owner to %I', name, $1::text) as statement, rank, oid from movable m
  where oid >= 16384 and not exists (select from pg_depend d where d.classid = class and d.objid = m.oid and d.deptype = 'e')
  union all
  select format('alter default privileges for role %I %s grant %s on %s to %s', $1::text,
      case when defaclnamespace = 0 then '' else format('in schema %I', n.nspname) end, a.privilege_type,
      case defaclobjtype when 'r' then 'tables' when 'S' then 'sequences' when 'f' then 'functions' when 'T' then 'types'
        when 'n' then 'schemas' end,
      case when a.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end), 3, d.oid
  from mine, pg_default_acl d left join pg_namespace n on n.oid = defaclnamespace, aclexplode(defaclacl) a
  where defaclrole = me and a.grantee <> me and defaclobjtype in ('r', 'S', 'f', 'T', 'n')
  order by rank, oid`;
