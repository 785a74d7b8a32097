import { SECOND } from '../clock.ts';
import { nearestName } from '../nearest-name.ts';
import { type Config, createConfig, createSource, type SourceConfig } from './config.ts';
import { type Environment, readEnvironment, type Texts, wrongSettings } from './environment.ts';
import { isResourceSetting, RESOURCE_SETTINGS, readResourceSettings } from './resource-settings.ts';
import { SCHEMA, SETTING_NAMES, type SettingName } from './schema.ts';
import { describeRejected, findPublicKeys, findSecrets, showValue, withoutSecrets } from './secrets.ts';
import {
  findDuplicates,
  findRedirectedKeys,
  readSourceEntry,
  readSourcesFile,
  type SourceEntry,
} from './sources-file.ts';

/**
 * Reads the settings from the environment, `.env` in `directory`, and `sources.json` there (or the file that SOURCES_FILE
 * names). Throws the kind `configuration` with every wrong setting at once.
 */
export function readConfig(options: {
  environment: Environment;
  directory: string;
  /** The command contacts the source, so its URL and key must be set. */
  needsSource: boolean;
  /** The source named with `--source`: the keys of the others need not be set. */
  source?: string | undefined;
  /** Leaves out the sources that a file describes: the environment and `.env` describe the only one. */
  withoutFile?: boolean;
  /** Names of the jobs, after which settings of one resource are named: see resource-settings.ts. */
  resources: readonly string[];
}): Config {
  const { directory, resources, needsSource, source: chosen } = options;
  const variables = readEnvironment(options.environment, directory);
  const { texts, originOf } = variables;
  const parsed = SCHEMA.safeParse(texts);
  const perResource = readResourceSettings(texts, resources);
  const found = readSourcesFile(directory, texts.SOURCES_FILE);
  const file = options.withoutFile ? null : found;
  const entries = file?.entries.map(entry =>
    readSourceEntry(entry, {
      texts,
      resourceDefaults: perResource.settings,
      needsKey: source => needsSource && (chosen === undefined || chosen === source),
      resources,
      file: file.path,
    }),
  );
  const described = entries?.flatMap(({ source }) => source ?? []) ?? [];
  const problems = [
    ...variables.problems,
    ...rejectedSettings(parsed.error?.issues ?? [], texts),
    ...perResource.problems,
    ...findUnknownSettings(texts, found ? new Set(found.entries.map(keyVariable)) : null),
    ...(file?.problems ?? []),
    ...(needsSource && !file ? missingSource(texts) : []),
    ...(entries?.flatMap(entry => entry.problems) ?? []),
    ...(file ? findDuplicates(described, file.name) : []),
    ...findRedirectedKeys(variables, file),
  ];
  if (!parsed.success || problems.length > 0) throw wrongSettings(problems);
  const { data } = parsed;
  // Without a sources file the environment describes one source, named after its schema.
  const name = data.WAREHOUSE_SCHEMA === 'warehouse' ? 'main' : data.WAREHOUSE_SCHEMA;
  const addressFile = originOf('SOURCE_URL') === '.env' ? variables.file : null;
  const single = { name, apiKey: data.SOURCE_API_KEY, addressFile, perResource: perResource.settings };
  const sources = file ? described : [createSource(data, single)];
  return createConfig(data, {
    sources,
    sourcesFile: file?.path ?? null,
    warnings: [...findPublicKeys(variables), ...findRetired(texts)],
    secrets: [...new Set([...findSecrets(texts), ...sources.flatMap(source => source.settings?.apiKey ?? [])])],
    shown: [
      ...SETTING_NAMES.map(each => ({ name: each, value: showValue(each, data[each]), from: originOf(each) })),
      ...perResource.names.map(each => ({ name: each, value: texts[each] ?? '', from: originOf(each) })),
      ...(file ? sources.map(source => ({ name: source.name, value: summary(source), from: file.name })) : []),
    ],
  });
}

const keyVariable = ({ fields }: SourceEntry): string => String(fields.api_key_from);

function rejectedSettings(issues: readonly { path: PropertyKey[]; message: string }[], texts: Texts): string[] {
  return issues.map(({ path, message }) => {
    const name = path[0] as SettingName;
    const text = texts[name] ?? '';
    return `${name} ${describeRejected(name, text)}; expected ${message}.${serviceLinkAdvice(name, text)}`;
  });
}

/** Settings of earlier versions that have no effect any more. */
const RETIRED: Readonly<Record<string, string>> = { SLUICE_PACE: 'requests are always spread evenly over time' };

const findRetired = (texts: Texts): string[] =>
  Object.entries(RETIRED)
    .filter(([name]) => name in texts)
    .map(([name, why]) => `${name} is no longer used: ${why}. Remove it from the settings.`);

function missingSource(texts: Texts): string[] {
  const expected = {
    SOURCE_URL: 'a URL such as https://books.example.com',
    SOURCE_API_KEY: 'the API key that the source shows under Settings → API Access',
  };
  return (['SOURCE_URL', 'SOURCE_API_KEY'] as const)
    .filter(name => !texts[name])
    .map(name => `${name} is not set; expected ${expected[name]}.`);
}

function summary({ settings, schema, rateLimit, windowMs }: SourceConfig): string {
  const address = settings ? withoutSecrets(settings.url) : 'its key is not set';
  return `${address}, schema ${schema}, ${rateLimit} requests in ${windowMs / SECOND} s`;
}

/** Names such as DATABASE_POOL_SIZE and LOG_FORMAT belong to every program. */
const SHARED_PREFIXES = new Set(['DATABASE_', 'LOG_']);

/** The first words of our settings: a variable that begins with one of them is meant for Sluice. */
const PREFIXES = [...new Set(SETTING_NAMES.map(name => name.slice(0, name.indexOf('_') + 1)))]
  .filter(prefix => !SHARED_PREFIXES.has(prefix))
  .concat('WEIGHT_', 'REWRITE_');

/** Kubernetes and Docker describe other services to a container, under the name of the service, which may be `sluice`. */
const OF_A_SERVICE = /_(SERVICE_(HOST|PORT)(_[A-Z0-9_]+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?|ENV_\w+)$/;
const SERVICE_ADDRESS = /^(tcp|udp|sctp):\/\//;

/** What to do about a setting that holds the address of a service; empty for any other value. */
function serviceLinkAdvice(name: string, text: string): string {
  const [, service] = /^(.+)_PORT$/.exec(name) ?? [];
  if (service === undefined || !SERVICE_ADDRESS.test(text)) return '';
  const named = service.toLowerCase().replaceAll('_', '-');
  return ` Kubernetes sets it in every pod beside a service named "${named}": name that service otherwise, or set enableServiceLinks: false in the spec of the pod.`;
}
/** Set by build systems, and passed on by images: reproducible-builds.org, Docker Hub, Heroku. */
const OF_BUILDS = new Set([
  'SOURCE_DATE_EPOCH',
  'SOURCE_VERSION',
  'SOURCE_BRANCH',
  'SOURCE_COMMIT',
  'SOURCE_TYPE',
  'SOURCE_REPOSITORY_URL',
]);

/**
 * One problem for each variable that begins like a setting and is none: a misspelt setting would silently have no effect. `keys` are the
 * variables that the sources file names in `api_key_from`; null without such a file.
 */
function findUnknownSettings(texts: Texts, keys: ReadonlySet<string> | null): string[] {
  return Object.entries(texts).flatMap(([name, text]) => {
    const prefix = PREFIXES.find(each => name.startsWith(each));
    // A malformed line of .env may yield a name that holds its value.
    if (prefix === undefined || !/^\w+$/.test(name)) return [];
    if (isSetting(name) || name in RETIRED || isOfOthers(name, text)) return [];
    const near = nearestSetting(name, prefix);
    // The key of a source in another sources file that shares this environment.
    if (keys?.has(name) || (keys !== null && near === undefined && /KEY/.test(name))) return [];
    const known = [...SETTING_NAMES, ...RESOURCE_SETTINGS].filter(each => each.startsWith(prefix)).join(', ');
    return [`${name} is not a setting; ${near === undefined ? `expected one of ${known}` : `did you mean ${near}?`}`];
  });
}

/** By what follows the prefix; SLUICE_RATE_LIMIT may also mean SOURCE_RATE_LIMIT. */
function nearestSetting(name: string, prefix: string): string | undefined {
  const rest = name.slice(prefix.length);
  const own = SETTING_NAMES.filter(each => each.startsWith(prefix)).map(each => each.slice(prefix.length));
  const near = nearestName(rest, own);
  return near === undefined ? SETTING_NAMES.find(each => each.endsWith(`_${rest}`)) : `${prefix}${near}`;
}

/** With a fixed name, or for one resource: those are checked where they are read. */
const isSetting = (name: string): boolean => SETTING_NAMES.some(each => each === name) || isResourceSetting(name);

const isOfOthers = (name: string, text: string): boolean =>
  OF_BUILDS.has(name) || OF_A_SERVICE.test(name) || SERVICE_ADDRESS.test(text);
