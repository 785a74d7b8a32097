import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { MINUTE, SECOND } from '../clock.ts';
import { codeOf, SluiceError } from '../errors.ts';
import { loginAttributes, READING_SETTINGS, readingGrants, readingSettings } from '../reading-login.ts';
import { scramVerifier } from '../scram-verifier.ts';
import { adminPasswordFile, passwordFile, readerPasswordFile, readIfPresent, replaceFile } from './home-files.ts';

export const HOST = '127.0.0.1';
/** The database, and its owner, as whom Sluice works: no superuser. */
const DATABASE = 'sluice';
const OWNER = 'sluice';
/** The superuser that initdb creates. Only the set-up of roles and databases logs in as it. */
export const ADMIN = 'sluice_admin';
/** The login of people and their tools: it reads, and has no way to write, to a file or to a program. */
export const READER = 'sluice_reader';

/** Where to connect; both contain a password. */
export interface Addresses {
  /** As the owner. */
  readonly url: string;
  /** As the login that may only read. */
  readonly readerUrl: string;
}

function addressOf(login: string, password: string, port: number, database = DATABASE): string {
  return `postgres://${login}:${password}@${HOST}:${port}/${database}`;
}

/** Undefined until the roles are set up. */
export async function readAddresses(home: string, port: number): Promise<Addresses | undefined> {
  const owner = await readPassword(passwordFile(home));
  const reader = await readPassword(readerPasswordFile(home));
  if (!owner || !reader) return undefined;
  return { url: addressOf(OWNER, owner, port), readerUrl: addressOf(READER, reader, port) };
}

async function readPassword(file: string): Promise<string | undefined> {
  return (await readIfPresent(file))?.trim() || undefined;
}

/** The password in `file`, which is created if necessary. */
export async function ensurePassword(file: string): Promise<string> {
  const known = await readPassword(file);
  if (known) return known;
  const password = randomBytes(24).toString('base64url');
  await replaceFile(file, password, undefined);
  return password;
}

async function withSession<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10 * SECOND });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

type UrlOf = (database: string) => string;

/**
 * Creates what is missing of roles, database and grants, as the superuser. A cluster of an earlier version has one superuser,
 * `sluice`, who owns everything: a new owner takes that over and, at the end, its name; so processes that run stay connected and
 * find the same address. Every step may be repeated after an interruption.
 */
export async function setUpRoles(home: string, port: number): Promise<void> {
  const { urlOf, isEarlier } = await findSuperuser(home, port);
  await withSession(urlOf('postgres'), async admin => {
    await admin.query(`set statement_timeout = ${2 * MINUTE}`);
    // Another process may be doing the same.
    await admin.query("select pg_advisory_lock(hashtextextended('sluice roles', 0))");
    const isNamed = await exists(admin, 'select from pg_roles where rolname = $1', ADMIN);
    if (isEarlier && isNamed) return refuseWithoutPasswords(home);
    const owner = isEarlier ? NEXT_OWNER : OWNER;
    await createRoles(admin, home, owner);
    // First the template of new databases, then the others.
    for (const name of ['template1', ...(await listDatabases(admin))])
      await withSession(urlOf(name), session => session.query(closedFunctions(owner)));
    if (!(await exists(admin, 'select from pg_database where datname = $1', DATABASE)))
      await admin.query(`create database ${DATABASE} owner ${owner}`);
    if (isEarlier) await handOver(admin, urlOf, owner);
    await closeDatabases(admin, owner);
    await withSession(urlOf(DATABASE), session => session.query(`set role ${owner}; ${readingGrants(READER)}`));
    if (isEarlier) await renameRoles(admin, scramVerifier(await ensurePassword(adminPasswordFile(home))));
  });
}

async function findSuperuser(home: string, port: number): Promise<{ urlOf: UrlOf; isEarlier: boolean }> {
  const password = await readPassword(adminPasswordFile(home));
  if (password) {
    const urlOf: UrlOf = database => addressOf(ADMIN, password, port, database);
    try {
      await withSession(urlOf('postgres'), async () => undefined);
      return { urlOf, isEarlier: false };
    } catch (error) {
      // Interrupted before the superuser had this name and password.
      if (codeOf(error) !== '28P01') throw error;
    }
  }
  const owner = (await readPassword(passwordFile(home))) ?? '';
  return { urlOf: database => addressOf(OWNER, owner, port, database), isEarlier: true };
}

/** The roles exist, usually because another process has just set them up; otherwise their passwords were lost. */
async function refuseWithoutPasswords(home: string): Promise<void> {
  for (const file of [adminPasswordFile(home), readerPasswordFile(home)]) {
    if (await readPassword(file)) continue;
    throw new SluiceError('database', `The embedded Postgres needs ${file}, which is absent.`, {
      next: `Restore it from a backup, or move ${home} away: Sluice fills a new warehouse from the source.`,
    });
  }
}

async function exists(admin: pg.Client, query: string, name: string): Promise<boolean> {
  return (await admin.query(query, [name])).rowCount === 1;
}

async function createRoles(admin: pg.Client, home: string, owner: string): Promise<void> {
  const give = async (role: string, attributes: string) => {
    const verb = (await exists(admin, 'select from pg_roles where rolname = $1', role)) ? 'alter' : 'create';
    await admin.query(`${verb} role ${role} ${attributes}`);
  };
  const verifierOf = async (file: string) => scramVerifier(await ensurePassword(file));
  const ownerVerifier = await verifierOf(passwordFile(home));
  await give(owner, `login nosuperuser createdb nocreaterole noreplication nobypassrls password '${ownerVerifier}'`);
  await give(READER, loginAttributes(await verifierOf(readerPasswordFile(home))));
  await admin.query(readingSettings(READER, EMBEDDED_SETTINGS));
  // So that the owner can end a reader's sessions; the reader gains nothing.
  await admin.query(`grant ${READER} to ${owner}`);
}

/** Only a superuser can change the last two: neither sorts of a reader nor the log of its errors fill the disk. */
const EMBEDDED_SETTINGS = { ...READING_SETTINGS, temp_file_limit: '4GB', log_min_messages: 'fatal' };

/**
 * Whether the roles are as `setUpRoles` leaves them. The reader can change its own settings and password, and drop its grants on later
 * tables, which would lock out whoever reads next.
 */
export async function areRolesIntact({ url, readerUrl }: Addresses): Promise<boolean> {
  const settings = Object.entries(EMBEDDED_SETTINGS).map(([name, value]) => `${name}=${value}`);
  const isAsSetUp = await withSession(url, async client => {
    const { rows } = await client.query<{ intact: boolean | null }>(INTACT, [OWNER, READER, settings]);
    return rows[0]?.intact === true;
  });
  if (!isAsSetUp) return false;
  const error = await withSession(readerUrl, async () => undefined).catch((error: unknown) => error);
  return codeOf(error) !== '28P01';
}

const INTACT = `
  select (select count(*) from pg_roles where rolname in ($1, $2) and not rolsuper) = 2
    and array(select setdatabase::text || setconfig::text from pg_db_role_setting where setrole = to_regrole($2))
      = array['0' || $3::text[]::text]
    and exists (select from pg_default_acl, aclexplode(defaclacl) where defaclrole = to_regrole($1) and grantee = to_regrole($2))
    as intact`;

async function listDatabases(admin: pg.Client): Promise<string[]> {
  const { rows } = await admin.query<{ name: string }>(
    'select datname as name from pg_database where datallowconn and not datistemplate order by datname',
  );
  return rows.map(({ name }) => name);
}

/**
 * Large objects, WAL messages and exported snapshots are ways to write that no grant on a table closes; with advisory locks a reader
 * could stop all syncs.
 */
const closedFunctions = (owner: string): string => `
do $closed$
declare each record;
begin
  for each in
    select oid::regprocedure as name from pg_proc
    where pronamespace = 'pg_catalog'::regnamespace and proname not in ('lo_import', 'lo_export')
      and (proname ~ '^(lo_|pg_(try_)?advisory_)'
        or proname in ('loread', 'lowrite', 'pg_logical_emit_message', 'pg_export_snapshot'))
  loop
    execute format('revoke execute on function %s from public', each.name);
    execute format('grant execute on function %s to %I', each.name, '${owner}');
  end loop;
end
$closed$`;

/** Nobody but the owner creates temporary tables, which could fill the disk; the reader connects to Sluice's databases alone. */
async function closeDatabases(admin: pg.Client, owner: string): Promise<void> {
  for (const name of ['template1', ...(await listDatabases(admin))]) {
    const database = admin.escapeIdentifier(name);
    await admin.query(`revoke temporary on database ${database} from public`);
    await admin.query(`grant connect, temporary on database ${database} to ${owner}`);
  }
  for (const name of ['template1', 'postgres']) await admin.query(`revoke connect on database ${name} from public`);
}

/** The owner's name until it owns everything. */
const NEXT_OWNER = 'sluice_next_owner';

/**
 * Gives everything that the superuser of an earlier version created to `owner`, in every database. Each statement is a transaction of
 * its own, so that it waits for a process that is reading, and never deadlocks with it.
 */
async function handOver(admin: pg.Client, urlOf: (database: string) => string, owner: string): Promise<void> {
  for (const name of await listDatabases(admin)) {
    if (name === 'postgres') continue;
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
  if (codeOf(error) !== '55P03') throw error;
  const message = `The tables of the embedded Postgres (database ${database}) must get a new owner, once, but another process keeps one of them locked.`;
  throw new SluiceError('database', message, {
    next: 'Stop the other sluice processes and sessions of psql, or wait until they have finished, then repeat the command.',
    cause: error,
  });
}

/** Both renames in one transaction: at every moment there is a login `sluice` with the same password. */
async function renameRoles(admin: pg.Client, verifier: string): Promise<void> {
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
