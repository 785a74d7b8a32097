import { readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { z } from 'zod';
import { MINUTE, SECOND } from '../clock.ts';
import { SluiceError } from '../errors.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** A setting whose text must pass `accepts`; `expected` completes "expected ..". */
const checked = (expected: string, accepts: (text: string) => boolean) => z.string().refine(accepts, expected);
const oneOf = <const V extends string>(...values: V[]) => z.enum(values, `one of ${values.join(', ')}`);
const whole = (least: number, most: number) =>
  checked(
    `a whole number from ${least} to ${most}`,
    text => /^\d{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most,
  ).transform(Number);

/** What describes one source, in the environment or as fields of a sources file. */
const SOURCE_SHAPE = {
  SOURCE_URL: checked(
    'an address such as https://books.example.com (https, except for this machine itself)',
    isSourceUrl,
  ).optional(),
  SOURCE_AUTH: oneOf('bearer', 'query').default('bearer'),
  SOURCE_TIMEZONE: timeZone().default('UTC'),
  SOURCE_PAGE_SIZE: z
    .union([z.literal('auto'), whole(1, 1000)], 'auto or a whole number from 1 to 1000')
    .default('auto'),
  SOURCE_RATE_LIMIT: whole(1, 1_000_000).default(1000),
  SOURCE_RATE_WINDOW_SECONDS: whole(1, 86_400).default(3600),
  SOURCE_CONCURRENCY: whole(1, 32).default(4),
  SOURCE_TIMEOUT_SECONDS: whole(1, 600).default(30),
  WAREHOUSE_SCHEMA: checked(
    'a schema name of small letters, digits and _, not one of the system, "sluice" or "graphile_worker"',
    text => /^[a-z_][a-z0-9_]{0,39}$/.test(text) && !/^(pg_.*|sluice|graphile_worker|information_schema)$/.test(text),
  ).default('warehouse'),
  SCHEDULE_TIMEZONE: timeZone().default('UTC'),
};

const KEY = checked('the key as the source shows it, without spaces', text => /^[\x21-\x7e]+$/.test(text));

const SCHEMA = z.object({
  ...SOURCE_SHAPE,
  SOURCE_API_KEY: KEY.optional(),
  SOURCES_FILE: z.string().optional(),
  DATABASE_URL: checked('postgres://user:password@host:5432/database', isPostgresUrl).optional(),
  SLUICE_DATA_DIR: z.string().default('.sluice'),
  SLUICE_HOST: checked('a host name or an IP address', text => /^[\w.:-]+$/.test(text)).default('127.0.0.1'),
  SLUICE_PORT: whole(0, 65_535).default(8080),
  SLUICE_TOKEN: checked('at least 8 characters without spaces', text => /^[\x21-\x7e]{8,}$/.test(text)).optional(),
  SLUICE_DRAIN_SECONDS: whole(0, 3600).default(30),
  ALERT_WEBHOOK_URL: checked(
    'an address that begins with https:// (http:// for this machine itself), without user and password',
    isWebUrl,
  ).optional(),
  FRESHNESS_LIMIT_MINUTES: whole(1, 525_600).default(60),
  RETENTION_REQUESTS_DAYS: whole(2, 36_500).default(7),
  RETENTION_RUNS_DAYS: whole(1, 36_500).default(90),
  RETENTION_SLOTS_DAYS: whole(1, 36_500).default(90),
  RETENTION_QUARANTINE_DAYS: whole(1, 36_500).default(30),
  LOG_LEVEL: oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent').default('info'),
});

/** A field of a sources file to the setting that it stands for. */
const FIELDS = {
  url: 'SOURCE_URL',
  auth: 'SOURCE_AUTH',
  timezone: 'SOURCE_TIMEZONE',
  page_size: 'SOURCE_PAGE_SIZE',
  rate_limit: 'SOURCE_RATE_LIMIT',
  rate_window_seconds: 'SOURCE_RATE_WINDOW_SECONDS',
  concurrency: 'SOURCE_CONCURRENCY',
  timeout_seconds: 'SOURCE_TIMEOUT_SECONDS',
  schema: 'WAREHOUSE_SCHEMA',
  schedule_timezone: 'SCHEDULE_TIMEZONE',
} as const;
const OWN_FIELDS = ['name', 'api_key_from', 'schedules', 'weights'];

const SCHEDULE = checked(
  'five fields such as */15 * * * *, or off',
  text => text === 'off' || /^([\dA-Za-z*/,-]+\s+){4}[\dA-Za-z*/,-]+$/.test(text),
);
const WEIGHT = whole(1, 1000);

type Name = keyof z.infer<typeof SCHEMA>;
const NAMES = Object.keys(SCHEMA.shape) as Name[];

/** Their values are never shown. An address may hold a key or a password, so of those only the harmless part is. */
const SECRETS: ReadonlySet<Name> = new Set(['SOURCE_API_KEY', 'SLUICE_TOKEN', 'ALERT_WEBHOOK_URL']);
const ADDRESSES: ReadonlySet<Name> = new Set(['SOURCE_URL', 'DATABASE_URL']);

/** One setting as people may see it. */
export interface ShownSetting {
  readonly name: string;
  readonly value: string;
  readonly from: string;
}

export interface SourceConfig {
  /** What the bookkeeping, `--source` and the log call it. */
  readonly name: string;
  readonly schema: string;
  readonly timeZone: string;
  /** Null while its address or key is not set, which only commands that do not ask the source allow. */
  readonly settings: {
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
  readonly limit: number;
  readonly windowMs: number;
  /** Resource to cron expression or `off`, where it is not as the job says. */
  readonly schedules: Readonly<Record<string, string>>;
  readonly scheduleTimeZone: string;
  /** Resource to its weight, where that is not 1. */
  readonly weights: Readonly<Record<string, number>>;
}

export interface Config {
  /** Those of the sources file; without one, that of the environment. */
  readonly sources: readonly SourceConfig[];
  /** Null: the embedded server. */
  readonly databaseUrl: string | null;
  readonly dataDir: string;
  readonly host: string;
  readonly port: number;
  readonly token: string | null;
  readonly drainMs: number;
  readonly alertWebhookUrl: string | null;
  readonly freshnessLimitMs: number;
  /** Days that finished bookkeeping is kept. */
  readonly retention: {
    readonly requests: number;
    readonly runs: number;
    readonly slots: number;
    readonly quarantine: number;
  };
  readonly logLevel: string;
  /** What must appear in no output. */
  readonly secrets: readonly string[];
  readonly shown: readonly ShownSetting[];
}

/**
 * Settings from the environment and, for what is not set there, from `.env` in `directory`; an empty one in the environment hides
 * that of the file. Several sources stand in `sources.json` there, or in SOURCES_FILE. Throws the kind `configuration`, with every
 * wrong setting named at once.
 */
export function readConfig(options: {
  environment: Environment;
  directory: string;
  /** The command asks the source: its address and key have to be set. */
  needsSource: boolean;
  /** The one that `--source` names: of the others nothing is needed. */
  source?: string | undefined;
  /** Names of the jobs, for SCHEDULE_ and WEIGHT_ settings. */
  resources: readonly string[];
}): Config {
  const { environment, directory, resources, needsSource, source: chosen } = options;
  const file = readEnvFile(join(directory, '.env'));
  const setting = (name: string) => (environment[name] ?? file.values[name])?.trim() || undefined;
  const origin = (name: string) =>
    setting(name) === undefined ? 'default' : environment[name] === undefined ? '.env' : 'environment';
  const given: Partial<Record<Name, string>> = {};
  for (const name of NAMES) {
    const text = setting(name);
    if (text) given[name] = text;
  }
  const parsed = SCHEMA.safeParse(given);
  const problems = [...file.problems];
  for (const issue of parsed.error?.issues ?? []) {
    const name = issue.path[0] as Name;
    problems.push(`${name}${visible(name, given[name] ?? '')}; expected ${issue.message}.`);
  }
  const plans = readPlans({ ...file.values, ...environment }, resources, problems);
  const list = readSourcesFile(directory, given.SOURCES_FILE, problems);
  if (needsSource && !list) {
    if (!given.SOURCE_URL)
      problems.push('SOURCE_URL is not set; expected an address such as https://books.example.com.');
    if (!given.SOURCE_API_KEY)
      problems.push('SOURCE_API_KEY is not set; expected the key the source shows under API Access.');
  }
  const described = list?.sources.map((each, index) =>
    readSource(each, {
      place: list.place(each, index),
      given,
      setting,
      needsKey: needsSource && (chosen === undefined || chosen === each.name),
      resources,
      plans,
      problems,
    }),
  );
  if (described) refuseEqual(described, list?.path ?? '', problems);
  if (!parsed.success || problems.length > 0) throw wrongSettings(problems);

  const { data } = parsed;
  const name = data.WAREHOUSE_SCHEMA === 'warehouse' ? 'main' : data.WAREHOUSE_SCHEMA;
  const sources = described?.map(each => each as SourceConfig) ?? [
    sourceOf(data, { name, apiKey: data.SOURCE_API_KEY, ...plans }),
  ];
  const shown = [
    ...NAMES.map(each => ({ name: each, value: masked(each, data[each]), from: origin(each) })),
    ...plans.names.map(each => ({ name: each, value: setting(each) ?? '', from: origin(each) })),
    ...(list ? sources.map(source => ({ name: source.name, value: inShort(source), from: basename(list.path) })) : []),
  ];
  return Object.freeze({
    sources: Object.freeze(sources),
    databaseUrl: data.DATABASE_URL ?? null,
    dataDir: data.SLUICE_DATA_DIR,
    host: data.SLUICE_HOST,
    port: data.SLUICE_PORT,
    token: data.SLUICE_TOKEN ?? null,
    drainMs: data.SLUICE_DRAIN_SECONDS * SECOND,
    alertWebhookUrl: data.ALERT_WEBHOOK_URL ?? null,
    freshnessLimitMs: data.FRESHNESS_LIMIT_MINUTES * MINUTE,
    retention: {
      requests: data.RETENTION_REQUESTS_DAYS,
      runs: data.RETENTION_RUNS_DAYS,
      slots: data.RETENTION_SLOTS_DAYS,
      quarantine: data.RETENTION_QUARANTINE_DAYS,
    },
    logLevel: data.LOG_LEVEL,
    secrets: [...new Set([...secretsIn(given), ...sources.flatMap(source => source.settings?.apiKey ?? [])])],
    shown,
  });
}

type SourceData = z.infer<z.ZodObject<typeof SOURCE_SHAPE>>;

function sourceOf(
  data: SourceData,
  own: { name: string; apiKey: string | undefined } & Pick<SourceConfig, 'schedules' | 'weights'>,
): SourceConfig {
  const limits = { limit: data.SOURCE_RATE_LIMIT, windowMs: data.SOURCE_RATE_WINDOW_SECONDS * SECOND };
  const { SOURCE_URL: url, SOURCE_TIMEZONE: timeZone } = data;
  const settings = {
    auth: data.SOURCE_AUTH,
    pageSize: data.SOURCE_PAGE_SIZE,
    ...limits,
    concurrency: data.SOURCE_CONCURRENCY,
    timeoutMs: data.SOURCE_TIMEOUT_SECONDS * SECOND,
    timeZone,
  };
  return Object.freeze({
    name: own.name,
    schema: data.WAREHOUSE_SCHEMA,
    timeZone,
    settings: url && own.apiKey ? Object.freeze({ url, apiKey: own.apiKey, ...settings }) : null,
    ...limits,
    schedules: own.schedules,
    scheduleTimeZone: data.SCHEDULE_TIMEZONE,
    weights: own.weights,
  });
}

interface Plans extends Pick<SourceConfig, 'schedules' | 'weights'> {
  /** The settings they came from. */
  readonly names: readonly string[];
}

/** SCHEDULE_ and WEIGHT_ settings: what follows is a resource in capitals. */
function readPlans(values: Environment, resources: readonly string[], problems: string[]): Plans {
  const schedules: Record<string, string> = {};
  const weights: Record<string, number> = {};
  const names: string[] = [];
  for (const [name, value] of Object.entries(values)) {
    const [, kind, rest] = /^(SCHEDULE|WEIGHT)_([A-Z][A-Z0-9_]*)$/.exec(name) ?? [];
    const text = value?.trim();
    if (!kind || !rest || !text || name === 'SCHEDULE_TIMEZONE') continue;
    names.push(name);
    const known = { [kind === 'SCHEDULE' ? 'schedules' : 'weights']: { [rest.toLowerCase()]: text } };
    const read = checkPlans(known, resources, (_field, _resource, problem) => problems.push(`${name} ${problem}`));
    Object.assign(schedules, read.schedules);
    Object.assign(weights, read.weights);
  }
  return { schedules, weights, names };
}

function checkPlans(
  given: { schedules?: Record<string, unknown>; weights?: Record<string, unknown> },
  resources: readonly string[],
  wrong: (field: string, resource: string, problem: string) => void,
): Pick<SourceConfig, 'schedules' | 'weights'> {
  const read = <T>(field: 'schedules' | 'weights', schema: z.ZodType<T, string>): Record<string, T> => {
    const found: Record<string, T> = {};
    for (const [resource, value] of Object.entries(given[field] ?? {})) {
      const text = plainText(value);
      const parsed = schema.safeParse(text);
      if (!resources.includes(resource))
        wrong(field, resource, `names no resource; expected one of ${resources.join(', ')}.`);
      else if (parsed.success) found[resource] = parsed.data;
      else wrong(field, resource, `is "${text}"; expected ${parsed.error.issues[0]?.message}.`);
    }
    return found;
  };
  return { schedules: read('schedules', SCHEDULE), weights: read('weights', WEIGHT) };
}

interface SourcesFile {
  readonly path: string;
  readonly sources: readonly Record<string, unknown>[];
  /** How a message names one of them. */
  readonly place: (source: Record<string, unknown>, index: number) => string;
}

/** `sources.json`, or the file that SOURCES_FILE names; null when there is none. */
function readSourcesFile(directory: string, named: string | undefined, problems: string[]): SourcesFile | null {
  const path = resolve(directory, named ?? 'sources.json');
  const file = named ?? 'sources.json';
  const none = { path, sources: [], place: () => file };
  let text: string;
  try {
    text = readFileSync(path, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && named === undefined) return null;
    problems.push(`${file} cannot be read (${code}); expected a JSON file with a list of sources.`);
    return none;
  }
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    // The parser's own message quotes the text, and a key may stand there.
    problems.push(`${file} is not JSON; expected a list such as [{"name": "main", "url": "https://..", ..}].`);
    return none;
  }
  const isRecord = (each: unknown): each is Record<string, unknown> =>
    typeof each === 'object' && each !== null && !Array.isArray(each);
  if (!Array.isArray(list) || list.length === 0 || !list.every(isRecord)) {
    problems.push(`${file} holds no list of sources; expected [{"name": "main", "url": "https://..", ..}].`);
    return none;
  }
  const place = (source: Record<string, unknown>, index: number) =>
    `${file}, source ${index + 1}${isName(source.name) ? ` (${source.name})` : ''}:`;
  return { path, sources: list, place };
}

const isName = (value: unknown): value is string => typeof value === 'string' && /^[a-z][a-z0-9_-]{0,39}$/.test(value);

/** One entry of a sources file; what it leaves out is as the environment has it. Null, with problems, when it is wrong. */
function readSource(
  entry: Record<string, unknown>,
  context: {
    place: string;
    given: Partial<Record<Name, string>>;
    setting: (name: string) => string | undefined;
    needsKey: boolean;
    resources: readonly string[];
    plans: Plans;
    problems: string[];
  },
): SourceConfig | null {
  const { place, setting, resources, problems } = context;
  const before = problems.length;
  const wrong = (text: string) => void problems.push(`${place} ${text}`);
  const known = [...OWN_FIELDS, ...Object.keys(FIELDS)];
  for (const field of Object.keys(entry)) {
    if (known.includes(field)) continue;
    const hint = /key/i.test(field)
      ? 'a key stands in an environment variable, which api_key_from names'
      : `expected ${known.join(', ')}`;
    wrong(`"${field}" is no field; ${hint}.`);
  }
  const { name, api_key_from: keyName } = entry;
  if (!isName(name)) wrong('name is not one; expected small letters, digits, _ and -, such as vienna.');
  const { SOURCE_URL: _url, SOURCE_API_KEY: _key, WAREHOUSE_SCHEMA: _schema, ...defaults } = context.given;
  const own: Record<string, string> = {
    ...defaults,
    WAREHOUSE_SCHEMA: name === 'main' ? 'warehouse' : String(name).replaceAll('-', '_'),
  };
  for (const [field, env] of Object.entries(FIELDS))
    if (entry[field] !== undefined) own[env] = plainText(entry[field]).trim();
  if (entry.url === undefined) wrong('url is not there; expected an address such as https://books.example.com.');
  const parsed = z.object(SOURCE_SHAPE).safeParse(own);
  for (const issue of parsed.error?.issues ?? []) {
    const [field] = Object.entries(FIELDS).find(([, env]) => env === issue.path[0]) ?? [];
    // What the environment has wrong was told there.
    if (field && (entry[field] !== undefined || (field === 'schema' && isName(name))))
      wrong(`${field}${visible(issue.path[0] as Name, own[issue.path[0] as Name] ?? '')}; expected ${issue.message}.`);
  }
  const apiKey = readKey(keyName, setting, context.needsKey, wrong);
  const plans = readFilePlans(entry, resources, wrong);
  if (!parsed.success || problems.length > before) return null;
  return sourceOf(parsed.data, {
    name: name as string,
    apiKey,
    schedules: { ...context.plans.schedules, ...plans.schedules },
    weights: { ...context.plans.weights, ...plans.weights },
  });
}

/** The key of the variable that is named; what stands in the file is not shown, because it may be the key itself. */
function readKey(
  name: unknown,
  setting: (name: string) => string | undefined,
  needed: boolean,
  wrong: (text: string) => void,
): string | undefined {
  if (typeof name !== 'string' || !/^[A-Z][A-Z0-9_]*$/.test(name)) {
    wrong(
      'api_key_from is not one; expected the name of the environment variable that holds the key, e.g. VIENNA_KEY.',
    );
    return undefined;
  }
  const key = setting(name);
  if (key === undefined && needed)
    wrong(`the variable ${name}, which api_key_from names, is not set; set it to the key.`);
  if (key !== undefined && !KEY.safeParse(key).success)
    wrong(`the variable ${name} is not usable (its value is not shown); expected the key, without spaces.`);
  return key;
}

function readFilePlans(
  entry: Record<string, unknown>,
  resources: readonly string[],
  wrong: (text: string) => void,
): Pick<SourceConfig, 'schedules' | 'weights'> {
  const given: Record<string, Record<string, unknown>> = {};
  for (const field of ['schedules', 'weights']) {
    const value = entry[field];
    if (value === undefined) continue;
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      given[field] = value as Record<string, unknown>;
    else wrong(`${field} is no object; expected such as {"${resources[0]}": ${field === 'weights' ? 3 : '"off"'}}.`);
  }
  return checkPlans(given, resources, (field, resource, problem) => wrong(`${field}.${resource} ${problem}`));
}

/** Two sources with one name share cursors, and with one schema, tables. */
function refuseEqual(sources: readonly (SourceConfig | null)[], path: string, problems: string[]): void {
  for (const field of ['name', 'schema'] as const) {
    const values = sources.flatMap(source => source?.[field] ?? []);
    for (const value of new Set(values.filter((each, index) => values.indexOf(each) !== index)))
      problems.push(`${basename(path)}: two sources have the ${field} "${value}"; give each one of its own.`);
  }
}

const plainText = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : JSON.stringify(value);

function inShort({ settings, schema, limit, windowMs }: SourceConfig): string {
  const address = settings ? withoutSecrets(settings.url) : 'its key is not set';
  return `${address}, schema ${schema}, ${limit} requests in ${windowMs / SECOND} s`;
}

function wrongSettings(problems: readonly string[]): SluiceError {
  const [first = ''] = problems;
  const message =
    problems.length === 1
      ? `A setting is wrong: ${first}`
      : [`${problems.length} settings are wrong:`, ...problems.map(problem => `  ${problem}`)].join('\n');
  return new SluiceError('configuration', message, {
    next: 'Correct it in the environment, in .env or in the sources file. Nothing was started.',
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
  if (shown !== null) return ` is "${shown}"`;
  // Of what is not understood only this is sure to hold no secret.
  const [scheme] = /^[a-z][a-z0-9+.-]*:\/\//i.exec(text) ?? [];
  return scheme && URL.canParse(text) ? ` begins with ${scheme}` : ' is not an address';
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

/** Without user and password: fetch asks no address that holds them. */
function isWebUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username || password) return false;
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}

function isSourceUrl(text: string): boolean {
  if (!isWebUrl(text)) return false;
  const { search, hash } = new URL(text);
  return !search && !hash;
}

function isPostgresUrl(text: string): boolean {
  return URL.canParse(text) && /^postgres(ql)?:$/.test(new URL(text).protocol);
}

function timeZone() {
  return checked('an IANA time zone such as Europe/Vienna', isTimeZone);
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
