import type pg from 'pg';
import { MINUTE } from '../../clock.ts';
import { codeOf, SluiceError } from '../../errors.ts';
import { loginAttributes, READING_SETTINGS, readingGrants, readingSettings } from '../../reading-login.ts';
import { scramVerifier } from '../../scram-verifier.ts';
import { adminPasswordFile, passwordFile, readerPasswordFile } from '../home-files.ts';
import { type Addresses, addressOf } from './addresses.ts';
import { handOver, NEXT_OWNER, renameRoles } from './hand-over.ts';
import { ensurePassword, readPassword } from './passwords.ts';
import { ADMIN, DATABASE, OWNER, READER } from './role-names.ts';
import { withSession } from './session.ts';

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
  const [ownerPassword, readerPassword] = [
    await ensurePassword(passwordFile(home)),
    await ensurePassword(readerPasswordFile(home)),
  ];
  await give(
    owner,
    `login nosuperuser createdb nocreaterole noreplication nobypassrls password '${scramVerifier(ownerPassword)}'`,
  );
  await give(READER, loginAttributes(scramVerifier(readerPassword)));
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
