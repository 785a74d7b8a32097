import { type Kysely, sql } from 'kysely';

const SECRET = [
  'pass ?wor[dt]|passwd|pass ?phrase|pass ?(hash|salt)|\\ypass ?(code|key)s?\\y|kennwort|contrase[nñ]a',
  '\\y(user|usr|db|database|smtp|imap|pop3?|mail|email|ftp|sftp|ssh|ldap|login|admin|account|api|mysql|root|proxy|portal|http|encrypted|hashed) ?pass$',
  'pwd|pswd|\\ypsw\\y|\\ypw$|\\ypw ?(hash|salt|reset)|auto ?login$|remember ?(token|code)',
  'secret(?!ar)|\\ysalt$|(user|hash) ?salt$',
  'api ?keys?\\y|private ?key|\\y(app|auth|access|signing|encryption|encrypt|ssh|consumer|session|master|reset|activation|recovery|hmac|aes|rsa) ?keys?\\y',
  'token ?[0-9]*$|token ?(hash|value|key|plain|encrypted)|(api|access|refresh|auth|session|reset|device|bearer) ?tokens$',
  '\\yjwts?\\y|\\ybearer$|connection ?string|seed ?phrase|\\y(login|api|auth|user|access|smtp|db) ?credentials?$',
  '\\y[th]?otp(\\y|(code|key|seed|hash|token|ur[il])s?\\y)|\\y(2fa|mfa|tfa)(\\y|(code|key|seed)s?\\y)|two ?factor|authenticator',
  '(recovery|backup|scratch|security|verification|activation|reset|login|one ?time) ?codes?$|security ?answer',
  '^pin$|\\y(user|login|card|access|security|account|transaction|atm) ?pin$|\\ypin ?hash',
  'card ?(number|num|no|nr|pan|cvv|cvc|csc)2?$|\\ycc ?(number|num|no|nr|cvv|cvc|csc)$|\\ycvv|\\ycvc|(credit|debit) ?cards?( ?(data|details))?$',
].join('|');
const ABOUT =
  ' (count|at|on|date|expires|expired|expiry|enabled|required|type|length|status|changed|verified|confirmed)$';
/** Rows without any of these letters need not be taken apart. */
const MAYBE =
  'pass|pwd|psw|pw|secret|salt|key|token|jwt|bearer|login|credential|otp|2fa|mfa|tfa|factor|authenticator|code|answer|pin|card|cc|cv|kennwort|contrase|remember|connection|phrase';

/** Removes from what is stored the fields that are not stored any more: passwords, keys and the like, by their names. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function pg_temp.is_secret(name text) returns boolean language plpgsql immutable as $$
    declare camel text := trim(regexp_replace(lower(regexp_replace(left(name, 200), '([[:lower:]0-9])([[:upper:]])', '\\1 \\2', 'g')), '[^[:alnum:]]+', ' ', 'g'));
      plain text := trim(regexp_replace(lower(left(name, 200)), '[^[:alnum:]]+', ' ', 'g'));
    begin
      return camel !~ ${sql.lit(ABOUT)} and (camel ~ ${sql.lit(SECRET)} or plain ~ ${sql.lit(SECRET)});
    end $$`.execute(db);
  await sql`
    create function pg_temp.without_secrets(value jsonb) returns jsonb language plpgsql immutable as $$
    begin
      return case jsonb_typeof(value)
        when 'object' then (select coalesce(jsonb_object_agg(e.key, pg_temp.without_secrets(e.value)), '{}')
          from jsonb_each(value) e where not pg_temp.is_secret(e.key))
        when 'array' then (select coalesce(jsonb_agg(pg_temp.without_secrets(e.value) order by e.ordinality), '[]')
          from jsonb_array_elements(value) with ordinality e)
        else value end;
    end $$`.execute(db);
  // In whole rows, columns are kept: a job may declare a field of such a name.
  await sql`
    create function pg_temp.without_secrets_in_row(value jsonb) returns jsonb language plpgsql immutable as $$
    begin
      return case jsonb_typeof(value)
        when 'object' then (select coalesce(jsonb_object_agg(e.key, case when e.key in ('_extra', 'record') then pg_temp.without_secrets(e.value)
          when jsonb_typeof(e.value) = 'array' then pg_temp.without_secrets_in_row(e.value) else e.value end), '{}') from jsonb_each(value) e)
        when 'array' then (select coalesce(jsonb_agg(pg_temp.without_secrets_in_row(e.value) order by e.ordinality), '[]')
          from jsonb_array_elements(value) with ordinality e)
        else value end;
    end $$`.execute(db);
  const { rows } = await sql<{ table: string; column: string }>`
    select c.relname as table, a.attname as column from pg_attribute a join pg_class c on c.oid = a.attrelid
    where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and a.atttypid = 'jsonb'::regtype
      and a.attname in ('_extra', 'record', 'row') and not a.attisdropped order by 1, 2`.execute(db);
  for (const { table, column } of rows) {
    const stored = sql.ref(column);
    // An `_extra` without fields is null.
    const kept =
      column === 'row' ? sql`pg_temp.without_secrets_in_row(${stored})` : sql`pg_temp.without_secrets(${stored})`;
    const cleaned = column === '_extra' ? sql`nullif(${kept}, '{}')` : kept;
    await sql`update ${sql.table(table)} set ${stored} = ${cleaned}
      where ${stored}::text ~* ${sql.lit(MAYBE)} and ${kept} <> ${stored}`.execute(db);
  }
  await sql`drop function pg_temp.without_secrets_in_row(jsonb)`.execute(db);
  await sql`drop function pg_temp.without_secrets(jsonb)`.execute(db);
  await sql`drop function pg_temp.is_secret(text)`.execute(db);
}
