import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { codeOf, SluiceError } from '../../errors.ts';
import { loginAttributes, readingGrants, readingSettings, scramVerifier } from '../../reading-login.ts';
import type { Database, Transaction } from './database.ts';

/**
 * Creates or updates a login that may read all that the login of `database` owns and will create, and nothing else. Needs CREATEROLE to
 * create it or to change its password. Throws kind `configuration` for a login that could do more.
 */
export async function grantReading(database: Database, options: { login?: string; newPassword: boolean }) {
  const names = await database.query<{ login: string }>("select current_database() || '_reader' as login");
  const login = options.login ?? names.rows[0]?.login ?? '';
  return database.transaction(async tx => {
    const isKnown = await isReader(tx, login);
    const password = isKnown && !options.newPassword ? null : randomBytes(24).toString('base64url');
    if (password !== null) await setPassword(tx, login, isKnown ? 'alter' : 'create', password);
    await tx.query(readingGrants(login));
    const { rows: given } = await tx.query<{ what: string }>(OF_EVERYBODY);
    for (const { what } of given) await tx.query(`revoke ${what} from public`);
    const { rows: open } = await tx.query<{ statement: string }>(OPEN, [login]);
    return {
      login,
      created: !isKnown,
      /** Null if it was not changed. */
      password,
      /** What everybody was allowed in this database and no longer is. */
      revoked: given.map(({ what }) => what),
      /** What it can do beyond reading until an administrator runs these statements. */
      open: open.map(({ statement }) => statement),
    };
  });
}

export type ReadingLogin = Awaited<ReturnType<typeof grantReading>>;

/** False if there is no such login. */
async function isReader(tx: Transaction, login: string): Promise<boolean> {
  const { rows } = await tx.query<{ reasons: (string | null)[] }>(REASONS, [login]);
  const [found] = rows;
  const reasons = found?.reasons.filter(reason => reason !== null) ?? [];
  if (reasons.length > 0)
    throw new SluiceError('configuration', `The login ${login} could do more than read: ${reasons.join(', ')}.`, {
      next: 'Name another, which is created: sluice grant <login>',
    });
  return found !== undefined;
}

const REASONS = `
  select array[
    case when rolname = current_user then 'Sluice works as it' end,
    case when rolsuper then 'it is a superuser' end,
    case when rolcreaterole or rolcreatedb or rolreplication or rolbypassrls then 'it has attributes such as CREATEDB' end,
    (select 'it is a member of ' || string_agg(roleid::regrole::text, ', ') from pg_auth_members where member = r.oid),
    case when exists (select from pg_shdepend where refobjid = r.oid and refclassid = 'pg_authid'::regclass and deptype = 'o')
      then 'it owns objects' end
  ] as reasons
  from pg_roles r where rolname = $1`;

async function setPassword(tx: Transaction, login: string, verb: 'create' | 'alter', password: string): Promise<void> {
  const role = pg.escapeIdentifier(login);
  try {
    if (verb === 'alter') await tx.query(`alter role ${role} password '${scramVerifier(password)}'`);
    else await tx.query(`create role ${role} ${ownAttributes(scramVerifier(password))}`);
    await tx.query(readingSettings(login));
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    if (codeOf(error) !== '42501' && codeOf(cause) !== '42501') throw error;
    const statement = verb === 'create' ? `create role ${role} login password '...'` : `\\password ${login}`;
    throw new SluiceError('database', `The login of DATABASE_URL may not ${verb} the login ${login}.`, {
      next: `Let an administrator run: ${statement}${verb === 'create' ? `; then repeat: sluice grant ${login}` : ''}`,
      cause: error,
    });
  }
}

/** Before Postgres 16, only a superuser may mention the first three; without them, they are off. */
const ownAttributes = (verifier: string): string =>
  loginAttributes(verifier).replace(/ nosuperuser| noreplication| nobypassrls/g, '');

/** Rights that Postgres gives to everybody; only the owner of a database or schema can take them back. */
const OF_EVERYBODY = `
  select format('temporary on database %I', datname) as what
  from pg_database d, aclexplode(coalesce(datacl, acldefault('d', datdba))) a
  where datname = current_database() and grantee = 0 and privilege_type = 'TEMPORARY' and pg_has_role(datdba, 'usage')
  union all
  select format('create on schema %I', nspname)
  from pg_namespace n, aclexplode(nspacl) a
  where nspname = 'public' and grantee = 0 and privilege_type = 'CREATE' and pg_has_role(nspowner, 'usage')`;

/** What else the login can do. */
const OPEN = `
  select format('revoke temporary on database %I from public', current_database()) as statement
  where has_database_privilege($1, current_database(), 'temporary')
  union all
  select format('revoke create on schema %I from public', nspname) from pg_namespace
  where nspname !~ '^pg_' and has_schema_privilege($1, oid, 'create')
  union all
  select format('revoke execute on function %s from public', oid::regprocedure) from pg_proc
  where pronamespace = 'pg_catalog'::regnamespace and proname in ('lo_creat', 'lo_create', 'lo_from_bytea', 'pg_logical_emit_message')
    and has_function_privilege($1, oid, 'execute')
  order by statement`;
