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

/** Creates what is missing of roles, database and grants, as the superuser. Every step may be repeated after an interruption. */
export async function setUpRoles(home: string, port: number): Promise<void> {
  const password = await knownAdminPassword(home, port);
  const urlOf = (database: string) => addressOf(ADMIN, password, port, database);
  await withSession(urlOf('postgres'), async admin => {
    await admin.query(`set statement_timeout = ${2 * MINUTE}`);
    // Another process may be doing the same.
    await admin.query("select pg_advisory_lock(hashtextextended('sluice roles', 0))");
    await createRoles(admin, home);
    // First the template of new databases, then the others.
    for (const name of ['template1', ...(await listDatabases(admin))])
      await withSession(urlOf(name), session => session.query(CLOSED_FUNCTIONS));
    if (!(await exists(admin, 'select from pg_database where datname = $1', DATABASE)))
      await admin.query(`create database ${DATABASE} owner ${OWNER}`);
    await closeDatabases(admin);
    await withSession(urlOf(DATABASE), session => session.query(`set role ${OWNER}; ${readingGrants(READER)}`));
  });
}

/** The password of the superuser, which is there before the cluster. A cluster of version 0.1 has none. */
async function knownAdminPassword(home: string, port: number): Promise<string> {
  const file = adminPasswordFile(home);
  const known = await readPassword(file);
  if (known && (await isPasswordRight(addressOf(ADMIN, known, port, 'postgres')))) return known;
  throw new SluiceError(
    'database',
    `The embedded Postgres needs ${file}, which ${known ? 'holds another password' : 'is absent'}.`,
    {
      next: `Restore it from a backup, or move ${home} away: Sluice fills a new warehouse from the source. If version 0.1 made it, run "sluice status" of version 0.2 once.`,
    },
  );
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
  await give(OWNER, `login nosuperuser createdb nocreaterole noreplication nobypassrls password '${ownerVerifier}'`);
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
