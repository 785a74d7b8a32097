import { z } from 'zod';
import { isSecureUrl } from '../loopback.ts';
import { parseReserve, RESERVE_FORM } from './reserve.ts';

const TIME_ZONE = checked('an IANA time zone such as Europe/Vienna', isTimeZone);

/** Settings of one source, from the environment or from the fields of an entry in the sources file. */
export const SOURCE_SHAPE = {
  SOURCE_URL: checked(
    'a URL such as https://books.example.com (http:// only for localhost), without user, password and query',
    isSourceUrl,
  ).optional(),
  SOURCE_AUTH: oneOf('bearer', 'query').default('bearer'),
  SOURCE_TIMEZONE: TIME_ZONE.default('UTC'),
  SOURCE_PAGE_SIZE: z
    .union([z.literal('auto'), wholeNumber(1, 1000)], 'auto or a whole number from 1 to 1000')
    .default('auto'),
  SOURCE_RATE_LIMIT: wholeNumber(1, 1_000_000).default(1000),
  SOURCE_RESERVE: checked(RESERVE_FORM, text => parseReserve(text) !== null).optional(),
  SOURCE_RATE_WINDOW_SECONDS: wholeNumber(1, 86_400).default(3600),
  SOURCE_CONCURRENCY: wholeNumber(1, 32).default(4),
  SOURCE_TIMEOUT_SECONDS: wholeNumber(1, 600).default(30),
  SOURCE_LAG_SECONDS: wholeNumber(0, 3600).default(60),
  SOURCE_CURRENCY: checked('the three letters of a currency, such as EUR', text => /^[A-Z]{3}$/.test(text)).optional(),
  SOURCE_NEVER: nameList('field names with commas between them, such as iban,customers.phone').default([]),
  SOURCE_HASH: nameList('fields of lists with commas between them, such as customers.email,users.email').default([]),
  WAREHOUSE_SCHEMA: checked(
    'a schema name such as books_2: at most 40 of a-z, 0-9 and _, no leading digit, not sluice, graphile_worker, information_schema or pg_*',
    text => /^[a-z_][a-z0-9_]{0,39}$/.test(text) && !/^(pg_.*|sluice|graphile_worker|information_schema)$/.test(text),
  ).default('warehouse'),
  SCHEDULE_TIMEZONE: TIME_ZONE.default('UTC'),
  FRESHNESS_MOST_SWEEPS: wholeNumber(2, 1000).default(5),
};

export const API_KEY = checked('the API key exactly as the source shows it, without spaces', text =>
  /^[\x21-\x7e]+$/.test(text),
);

const POSTGRES_URL = checked(
  'postgres://user:password@host:5432/database',
  text => URL.canParse(text) && /^postgres(ql)?:$/.test(new URL(text).protocol),
);

/** Every setting with a fixed name. SCHEDULE_*, WEIGHT_*, FRESHNESS_TARGET_MINUTES_*, HISTORY_* and REWRITE_LIMIT_* are named after resources: see resource-settings.ts. */
export const SCHEMA = z.object({
  ...SOURCE_SHAPE,
  SOURCE_API_KEY: API_KEY.optional(),
  SOURCES_FILE: z.string().optional(),
  DATABASE_URL: POSTGRES_URL.optional(),
  READER_DATABASE_URL: POSTGRES_URL.optional(),
  SLUICE_DATA_DIR: z.string().default('.sluice'),
  SLUICE_HOST: checked('a host name or an IP address', text => /^[\w.:-]+$/.test(text)).default('127.0.0.1'),
  SLUICE_PORT: wholeNumber(0, 65_535).default(8080),
  SLUICE_TOKEN: checked(
    'at least 16 characters without spaces, for example the output of: openssl rand -hex 24',
    text => /^[\x21-\x7e]{16,}$/.test(text),
  ).optional(),
  SLUICE_HASH_KEY: checked(
    'at least 32 characters without spaces, for example the output of: openssl rand -hex 32',
    text => /^[\x21-\x7e]{32,}$/.test(text),
  ).optional(),
  SLUICE_DRAIN_SECONDS: wholeNumber(0, 3600).default(30),
  ALERT_WEBHOOK_URL: checked('an https:// URL (http:// only for localhost), without user and password', text =>
    isSecureUrl(text, true),
  ).optional(),
  ALERT_ALLOW_PRIVATE: oneOf('yes', 'no').default('no'),
  FRESHNESS_LIMIT_MINUTES: wholeNumber(1, 525_600).default(60),
  RETENTION_REQUESTS_DAYS: wholeNumber(2, 36_500).default(7),
  RETENTION_RUNS_DAYS: wholeNumber(1, 36_500).default(90),
  RETENTION_SLOTS_DAYS: wholeNumber(1, 36_500).default(90),
  RETENTION_QUARANTINE_DAYS: wholeNumber(1, 36_500).default(30),
  RETENTION_HISTORY_DAYS: wholeNumber(2, 36_500).optional(),
  RETENTION_PUSHES_DAYS: wholeNumber(1, 36_500).optional(),
  LOG_LEVEL: oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent').default('info'),
  LOG_LEVEL_FORMAT: oneOf('number', 'word').default('number'),
});

export type SettingValues = z.infer<typeof SCHEMA>;
export type SourceValues = z.infer<z.ZodObject<typeof SOURCE_SHAPE>>;
export type SettingName = keyof SettingValues;

export const SETTING_NAMES = Object.keys(SCHEMA.shape) as SettingName[];

/** A setting whose text must pass `accepts`; `expected` completes "expected ...". */
export function checked(expected: string, accepts: (text: string) => boolean) {
  return z.string().refine(accepts, expected);
}

export function oneOf<const V extends string>(...values: V[]) {
  return z.enum(values, `one of ${values.join(', ')}`);
}

export function wholeNumber(least: number, most: number) {
  const accepts = (text: string) => /^\d{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most;
  return checked(`a whole number from ${least} to ${most}`, accepts).transform(Number);
}

/** Names with commas between them, each with a letter or a digit; none in an empty text. */
function nameList(expected: string) {
  const namesIn = (text: string) => (text === '' ? [] : text.split(',').map(name => name.trim()));
  const isName = (name: string) => /^[^[\]{}"]*[\p{L}\p{N}][^[\]{}"]*$/u.test(name);
  return checked(expected, text => namesIn(text).every(isName)).transform(namesIn);
}

function isTimeZone(text: string): boolean {
  try {
    // Offsets such as +02:00 are refused: they have no daylight saving time.
    return (
      /^[A-Za-z]/.test(text) && new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone !== ''
    );
  } catch {
    return false;
  }
}

/** A web URL that paths can be appended to. */
function isSourceUrl(text: string): boolean {
  if (!isSecureUrl(text, true)) return false;
  const { search, hash } = new URL(text);
  return !search && !hash;
}
