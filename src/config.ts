import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { z } from 'zod';
import { SECOND } from './clock.ts';
import { SluiceError } from './errors.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** A setting whose text must pass `accepts`; `expected` completes "expected ..". */
const checked = (expected: string, accepts: (text: string) => boolean) => z.string().refine(accepts, expected);
const oneOf = <const V extends string>(...values: V[]) => z.enum(values, `one of ${values.join(', ')}`);
const whole = (least: number, most: number) =>
  checked(
    `a whole number from ${least} to ${most}`,
    text => /^\d{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most,
  ).transform(Number);

const SCHEMA = z.object({
  SOURCE_URL: checked(
    'an address such as https://books.example.com (https, except for this machine itself)',
    isSourceUrl,
  ).optional(),
  SOURCE_API_KEY: checked('the key as the source shows it, without spaces', text =>
    /^[\x21-\x7e]+$/.test(text),
  ).optional(),
  SOURCE_AUTH: oneOf('bearer', 'query').default('bearer'),
  SOURCE_TIMEZONE: checked('an IANA time zone such as Europe/Vienna', isTimeZone).default('UTC'),
  SOURCE_PAGE_SIZE: z
    .union([z.literal('auto'), whole(1, 1000)], 'auto or a whole number from 1 to 1000')
    .default('auto'),
  SOURCE_RATE_LIMIT: whole(1, 1_000_000).default(1000),
  SOURCE_RATE_WINDOW_SECONDS: whole(1, 86_400).default(3600),
  SOURCE_CONCURRENCY: whole(1, 32).default(4),
  SOURCE_TIMEOUT_SECONDS: whole(1, 600).default(30),
  DATABASE_URL: checked('postgres://user:password@host:5432/database', isPostgresUrl).optional(),
  SLUICE_DATA_DIR: z.string().default('.sluice'),
  WAREHOUSE_SCHEMA: checked(
    'a schema name of small letters, digits and _, not one of the system or "sluice"',
    text => /^[a-z_][a-z0-9_]{0,39}$/.test(text) && !/^(pg_.*|sluice|information_schema)$/.test(text),
  ).default('warehouse'),
  SLUICE_HOST: checked('a host name or an IP address', text => /^[\w.:-]+$/.test(text)).default('127.0.0.1'),
  SLUICE_PORT: whole(1, 65_535).default(8080),
  SLUICE_TOKEN: checked('at least 8 characters without spaces', text => /^[\x21-\x7e]{8,}$/.test(text)).optional(),
  ALERT_WEBHOOK_URL: checked(
    'an address that begins with https:// (http:// for this machine itself)',
    isWebUrl,
  ).optional(),
  LOG_LEVEL: oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent').default('info'),
});

type Name = keyof z.infer<typeof SCHEMA>;
const NAMES = Object.keys(SCHEMA.shape) as Name[];

/** Their values are never shown. An address may hold a key or a password, so of those only the harmless part is. */
const SECRETS: ReadonlySet<Name> = new Set(['SOURCE_API_KEY', 'SLUICE_TOKEN', 'ALERT_WEBHOOK_URL']);
const ADDRESSES: ReadonlySet<Name> = new Set(['SOURCE_URL', 'DATABASE_URL']);

/** One setting as people may see it. */
export interface ShownSetting {
  readonly name: string;
  readonly value: string;
  readonly from: 'environment' | '.env' | 'default';
}

export interface Config {
  /** Null while SOURCE_URL or SOURCE_API_KEY is not set, which only commands without a source allow. */
  readonly source: {
    readonly url: string;
    readonly apiKey: string;
    readonly auth: 'bearer' | 'query';
    readonly pageSize: number | 'auto';
    readonly limit: number;
    readonly windowMs: number;
    readonly concurrency: number;
    readonly timeoutMs: number;
    readonly timeZone: string;
  } | null;
  /** What the bookkeeping calls the source: a database may hold several, each with a schema of its own. */
  readonly sourceName: string;
  readonly timeZone: string;
  /** Null: the embedded server. */
  readonly databaseUrl: string | null;
  readonly dataDir: string;
  readonly schema: string;
  readonly host: string;
  readonly port: number;
  readonly token: string | null;
  readonly alertWebhookUrl: string | null;
  readonly logLevel: string;
  /** What must appear in no output. */
  readonly secrets: readonly string[];
  readonly shown: readonly ShownSetting[];
}

/**
 * Settings from the environment and, for what is not set there, from `.env` in `directory`; an empty one counts as not set.
 * Throws the kind `configuration`, with every wrong setting named at once.
 */
export function readConfig(options: { environment: Environment; directory: string; needsSource: boolean }): Config {
  const { environment } = options;
  const file = readEnvFile(join(options.directory, '.env'));
  const given: Partial<Record<Name, string>> = {};
  for (const name of NAMES) {
    const text = (environment[name] ?? file.values[name])?.trim();
    if (text) given[name] = text;
  }
  const parsed = SCHEMA.safeParse(given);
  const problems = [...file.problems];
  for (const issue of parsed.error?.issues ?? []) {
    const name = issue.path[0] as Name;
    problems.push(`${name}${visible(name, given[name] ?? '')}; expected ${issue.message}.`);
  }
  if (options.needsSource) {
    if (!given.SOURCE_URL)
      problems.push('SOURCE_URL is not set; expected an address such as https://books.example.com.');
    if (!given.SOURCE_API_KEY)
      problems.push('SOURCE_API_KEY is not set; expected the key the source shows under API Access.');
  }
  if (!parsed.success || problems.length > 0) throw wrongSettings(problems);

  const { data } = parsed;
  const shown = NAMES.map((name): ShownSetting => {
    const from = given[name] === undefined ? 'default' : environment[name] === undefined ? '.env' : 'environment';
    return { name, value: masked(name, data[name]), from };
  });
  const { SOURCE_URL: url, SOURCE_API_KEY: apiKey } = data;
  const source = {
    auth: data.SOURCE_AUTH,
    pageSize: data.SOURCE_PAGE_SIZE,
    limit: data.SOURCE_RATE_LIMIT,
    windowMs: data.SOURCE_RATE_WINDOW_SECONDS * SECOND,
    concurrency: data.SOURCE_CONCURRENCY,
    timeoutMs: data.SOURCE_TIMEOUT_SECONDS * SECOND,
    timeZone: data.SOURCE_TIMEZONE,
  };
  return Object.freeze({
    source: url && apiKey ? Object.freeze({ url, apiKey, ...source }) : null,
    sourceName: data.WAREHOUSE_SCHEMA === 'warehouse' ? 'main' : data.WAREHOUSE_SCHEMA,
    timeZone: data.SOURCE_TIMEZONE,
    databaseUrl: data.DATABASE_URL ?? null,
    dataDir: data.SLUICE_DATA_DIR,
    schema: data.WAREHOUSE_SCHEMA,
    host: data.SLUICE_HOST,
    port: data.SLUICE_PORT,
    token: data.SLUICE_TOKEN ?? null,
    alertWebhookUrl: data.ALERT_WEBHOOK_URL ?? null,
    logLevel: data.LOG_LEVEL,
    secrets: secretsIn(given),
    shown,
  });
}

function wrongSettings(problems: readonly string[]): SluiceError {
  const [first = ''] = problems;
  const message =
    problems.length === 1
      ? `A setting is wrong: ${first}`
      : [`${problems.length} settings are wrong:`, ...problems.map(problem => `  ${problem}`)].join('\n');
  return new SluiceError('configuration', message, {
    next: 'Correct it in the environment or in .env in this folder. Nothing was started.',
  });
}

function readEnvFile(path: string): { values: Environment; problems: string[] } {
  let text: string;
  try {
    text = readFileSync(path, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return { values: {}, problems: [] };
    return { values: {}, problems: [`.env cannot be read (${code}); expected a text file with lines of NAME=value.`] };
  }
  // Node's parser passes over what it does not understand, and a misspelt line would look like one that is not there.
  const single = text.replace(
    /=[^\S\n]*(["'`])(?:(?!\1)[\s\S])*\1/g,
    quoted => `=${'\n'.repeat(quoted.split('\n').length - 1)}`,
  );
  const problems = single.split('\n').flatMap((line, index) => {
    const content = line.trim();
    if (content === '' || content.startsWith('#')) return [];
    if (!/^(export\s+)?[A-Za-z_]\w*\s*=/.test(content))
      return [`.env line ${index + 1} is not understood; expected NAME=value.`];
    return /=\s*["'`]/.test(content) ? [`.env line ${index + 1} has an opening quote without a closing one.`] : [];
  });
  return { values: parseEnv(text) as Environment, problems };
}

function visible(name: Name, text: string): string {
  if (SECRETS.has(name)) return ' is not usable (its value is not shown)';
  if (!ADDRESSES.has(name)) return ` is "${text}"`;
  const shown = withoutSecrets(text);
  return shown === null ? ' is not an address' : ` is "${shown}"`;
}

function masked(name: Name, value: unknown): string {
  if (value === undefined) return 'not set';
  if (SECRETS.has(name)) return '(set, not shown)';
  return ADDRESSES.has(name) ? (withoutSecrets(String(value)) ?? '(set, not shown)') : String(value);
}

/** An address without password and query, where a key could be; null when it is none. */
export function withoutSecrets(text: string): string | null {
  if (!URL.canParse(text) || !/^(https?|postgres(ql)?):\/\//i.test(text)) return null;
  const url = new URL(text);
  if (url.password) url.password = '***';
  if (url.protocol.startsWith('http')) url.username = '';
  url.search = '';
  url.hash = '';
  return url.href.replace(/\/$/, '');
}

function secretsIn(given: Partial<Record<Name, string>>): string[] {
  const secrets = [...SECRETS].flatMap(name => given[name] ?? []);
  const { DATABASE_URL: text, SOURCE_URL: address } = given;
  for (const each of [text, address]) {
    if (!each || !URL.canParse(each)) continue;
    const url = new URL(each);
    secrets.push(url.password, unescaped(url.password), url.searchParams.get('password') ?? '');
  }
  return secrets.filter(secret => secret !== '');
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

function isWebUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}

function isSourceUrl(text: string): boolean {
  if (!isWebUrl(text)) return false;
  const { username, password, search, hash } = new URL(text);
  return !username && !password && !search && !hash;
}

function isPostgresUrl(text: string): boolean {
  return URL.canParse(text) && /^postgres(ql)?:$/.test(new URL(text).protocol);
}

function isTimeZone(text: string): boolean {
  try {
    // Offsets such as +02:00 are no zones: they know no summer time.
    return (
      /^[A-Za-z]/.test(text) && new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone !== ''
    );
  } catch {
    return false;
  }
}
