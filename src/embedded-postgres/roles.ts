import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { MINUTE, SECOND } from '../clock.ts';
import { codeOf, SluiceError } from '../errors.ts';
import { loginAttributes, READING_SETTINGS, readingGrants, readingSettings, scramVerifier } from '../reading-login.ts';
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

const verifierOf = async (file: string): Promise<string> => scramVerifier(await ensurePassword(file));

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

/** True too while the server refuses for another reason, which the next session reports. */
const isPasswordRight = async (url: string): Promise<boolean> =>
  codeOf(await withSession(url, async () => undefined).catch((error: unknown) => error)) !== '28P01';

/**
 * Creates what is missing of roles, database and grants, as the superuser. A cluster of version 0.1 has one superuser, `sluice`, who owns
 * everything: it gets another name, and a new `sluice` takes over what it owns, as a superuser until that is done. So processes that run
 * stay connected, and find the same address. Every step may be repeated after an interruption.
 */
export async function setUpRoles(home: string, port: number): Promise<void> {
  const known = await readPassword(adminPasswordFile(home));
  const own = known && addressOf(ADMIN, known, port, 'postgres');
  const isNamed = own && (await isPasswordRight(own));
  const earlier = addressOf(OWNER, (await readPassword(passwordFile(home))) ?? '', port, 'postgres');
  await withSession(isNamed ? own : earlier, async admin => {
    await admin.query(`set statement_timeout = ${2 * MINUTE}`);
    // Another process may be doing the same.
    await admin.query("select pg_advisory_lock(hashtextextended('sluice roles', 0))");
    if (!isNamed) {
      if (await exists(admin, 'select from pg_roles where rolname = $1', ADMIN)) return refuseWithoutPasswords(home);
      await renameSuperuser(admin, home);
    }
    const password = await ensurePassword(adminPasswordFile(home));
    const urlOf = (database: string) => addressOf(ADMIN, password, port, database);
    await createRoles(admin, home);
    // First the template of new databases, then the others.
    for (const name of ['template1', ...(await listDatabases(admin))])
      await withSession(urlOf(name), session => session.query(CLOSED_FUNCTIONS));
    if (!(await exists(admin, 'select from pg_database where datname = $1', DATABASE)))
      await admin.query(`create database ${DATABASE} owner ${OWNER}`);
    if (await exists(admin, 'select from pg_roles where rolname = $1 and rolsuper', OWNER)) {
      await handOver(admin, urlOf);
      await admin.query(`alter role ${OWNER} nosuperuser`);
    }
    await closeDatabases(admin);
    await withSession(urlOf(DATABASE), session => session.query(`set role ${OWNER}; ${readingGrants(READER)}`));
  });
}

/** An upgrade by version 0.2.0 that was interrupted has left the new owner under this name. */
const NEXT_OWNER = 'sluice_next_owner';

/** Both roles in one transaction: at every moment there is a login `sluice` with the same password. */
async function renameSuperuser(admin: pg.Client, home: string): Promise<void> {
  const isBegun = await exists(admin, 'select from pg_roles where rolname = $1', NEXT_OWNER);
  await admin.query(`
    -- A session may not rename its own user.
    create role sluice_renaming superuser;
    set session authorization sluice_renaming;
    alter role ${OWNER} rename to ${ADMIN};
    ${isBegun ? `alter role ${NEXT_OWNER} rename to ${OWNER}` : `create role ${OWNER}`};
    alter role ${OWNER} superuser login password '${await verifierOf(passwordFile(home))}';
    reset session authorization;
    drop role sluice_renaming;
    alter role ${ADMIN} password '${await verifierOf(adminPasswordFile(home))}'`);
}

/** The superuser has its name, usually because another process has just given it; otherwise the passwords were lost. */
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

async function createRoles(admin: pg.Client, home: string): Promise<void> {
  const give = async (role: string, attributes: string) => {
    const verb = (await exists(admin, 'select from pg_roles where rolname = $1', role)) ? 'alter' : 'create';
    await admin.query(`${verb} role ${role} ${attributes}`);
  };
  const ownerVerifier = await verifierOf(passwordFile(home));
  await give(OWNER, `login createdb nocreaterole noreplication nobypassrls password '${ownerVerifier}'`);
  await give(READER, loginAttributes(await verifierOf(readerPasswordFile(home))));
  await admin.query(readingSettings(READER, EMBEDDED_SETTINGS));
  // So that the owner can end a reader's sessions; the reader gains nothing.
  await admin.query(`grant ${READER} to ${OWNER}`);
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
  return isAsSetUp && (await isPasswordRight(readerUrl));
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
const CLOSED_FUNCTIONS = `
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
    execute format('grant execute on function %s to %I', each.name, '${OWNER}');
  end loop;
end
$closed$`;

/** Nobody but the owner creates temporary tables, which could fill the disk; the reader connects to Sluice's databases alone. */
async function closeDatabases(admin: pg.Client): Promise<void> {
  for (const name of ['template1', ...(await listDatabases(admin))]) {
    const database = admin.escapeIdentifier(name);
    await admin.query(`revoke temporary on database ${database} from public`);
    await admin.query(`grant connect, temporary on database ${database} to ${OWNER}`);
  }
  for (const name of ['template1', 'postgres']) await admin.query(`revoke connect on database ${name} from public`);
}

/**
 * Gives everything that the superuser owns since version 0.1 to the owner, in every database. Each statement is a transaction of its own,
 * so that it waits for a process that is reading, and never deadlocks with it.
 */
async function handOver(admin: pg.Client, urlOf: (database: string) => string): Promise<void> {
  for (const name of await listDatabases(admin)) {
    if (name === 'postgres') continue;
    await admin.query(`alter database ${admin.escapeIdentifier(name)} owner to ${OWNER}`);
    await withSession(urlOf(name), async session => {
      await session.query("set lock_timeout = '20s'; set search_path = ''");
      const { rows } = await session.query<{ statement: string }>(STATEMENTS, [OWNER]);
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

// REASSIGN OWNED refuses the first superuser. Objects of initdb have ids below 16384. Members of extensions, row types and sequences of
// columns follow what they depend on. What others were promised of future tables, the new owner promises too.
const STATEMENTS = `
  with objects (class, oid, namespace, owner) as (
    select 'pg_namespace'::regclass, oid, oid, nspowner from pg_namespace
    union all
    select 'pg_class'::regclass, oid, relnamespace, relowner from pg_class where relkind in ('r', 'p', 'v', 'm', 'f', 'S')
    union all
    select 'pg_proc'::regclass, oid, pronamespace, proowner from pg_proc
    union all
    select 'pg_type'::regclass, oid, typnamespace, typowner from pg_type where typtype in ('c', 'd', 'e', 'r'))
  select format('alter %s %s owner to %I', case class when 'pg_proc'::regclass then 'routine' else type end, identity, $1::text)
    as statement, case class when 'pg_namespace'::regclass then 1 else 2 end as rank, o.oid
  from objects o join pg_namespace n on n.oid = namespace, pg_identify_object(class, o.oid, 0)
  where owner = to_regrole(current_user) and o.oid >= 16384 and nspname !~ '^pg_(toast|temp)'
    and not exists (select from pg_depend d where d.classid = class and d.objid = o.oid and d.objsubid = 0
      and (d.deptype in ('e', 'i') or (d.deptype = 'a' and d.refobjsubid > 0)))
  union all
  select format('alter default privileges for role %I %s grant %s on %s to %s', $1::text,
      case when defaclnamespace = 0 then '' else format('in schema %I', n.nspname) end, a.privilege_type,
      case defaclobjtype when 'r' then 'tables' when 'S' then 'sequences' when 'f' then 'functions' when 'T' then 'types'
        when 'n' then 'schemas' end,
      case when a.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end), 3, d.oid
  from pg_default_acl d left join pg_namespace n on n.oid = defaclnamespace, aclexplode(defaclacl) a
  where defaclrole = to_regrole(current_user) and a.grantee <> defaclrole and defaclobjtype in ('r', 'S', 'f', 'T', 'n')
  order by rank, oid`;
