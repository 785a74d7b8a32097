import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';

/**
 * SQL for the login that may only read. Its grants are the boundary: a session may change its settings, such as
 * `default_transaction_read_only`, and no filter of statements recognises every way to write.
 */

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;
const identifier = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** Attributes of a login that may read; `verifier` is a password or what Postgres stores of one. */
export const loginAttributes = (verifier: string): string =>
  `login nosuperuser nocreatedb nocreaterole noreplication nobypassrls connection limit 20 password ${literal(verifier)}`;

/** They spare people mistakes; a session can change them, and the login can for its later sessions. */
export const READING_SETTINGS: Readonly<Record<string, string>> = {
  default_transaction_read_only: 'on',
  statement_timeout: '60s',
  idle_in_transaction_session_timeout: '2min',
};

/** Gives `reader` these settings and no others, in every database: every role may change its own. */
export function readingSettings(reader: string, settings = READING_SETTINGS): string {
  const role = identifier(reader);
  return `
    do $reset$
    declare each record;
    begin
      for each in
        select datname as name from pg_db_role_setting s join pg_database d on d.oid = setdatabase
        where setrole = (select oid from pg_roles where rolname = ${literal(reader)})
      loop
        execute format('alter role %I in database %I reset all', ${literal(reader)}, each.name);
      end loop;
    end
    $reset$;
    alter role ${role} reset all;
    ${Object.entries(settings)
      .map(([name, value]) => `alter role ${role} set ${name} = ${literal(value)};`)
      .join(' ')}`;
}

/**
 * Run by the owner: `reader` may read everything that the owner has in this database and will create there, also in schemas of
 * later sources. Excepted are the secret addresses for webhooks. Where it changes nothing it writes little; it may be repeated.
 */
export const readingGrants = (reader: string): string => `
do $grants$
declare
  reader constant text := ${literal(reader)};
  me constant oid := (select oid from pg_roles where rolname = current_user);
  each record;
begin
  for each in select nspname as name from pg_namespace where nspowner = me and nspname !~ '^pg_' loop
    execute format('grant usage on schema %I to %I', each.name, reader);
  end loop;
  for each in
    select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relowner = me and c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname !~ '^pg_'
  loop
    execute format('grant select on table %s to %I', each.name, reader);
  end loop;
  execute format('alter default privileges grant usage on schemas to %I', reader);
  execute format('alter default privileges grant select on tables to %I', reader);
  if to_regclass('sluice.receivers') is not null then
    execute format('revoke select on table sluice.receivers from %I', reader);
  end if;
end
$grants$`;

const ITERATIONS = 4096;

/** What Postgres stores of a password. Sent in its place, the password itself is in no log of the server. */
export function scramVerifier(password: string): string {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, ITERATIONS, 32, 'sha256');
  const keyed = (label: string) => createHmac('sha256', salted).update(label).digest();
  const storedKey = createHash('sha256').update(keyed('Client Key')).digest('base64');
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${storedKey}:${keyed('Server Key').toString('base64')}`;
}
