import { MINUTE, SECOND } from '../clock.ts';
import type { Config, SourceConfig } from './config.ts';
import { createSource } from './create-source.ts';
import type { Environment } from './env-file.ts';
import { type RawSettings, readEnvironment, settingTexts } from './environment.ts';
import { findPublicKeys, findRedirectedKeys } from './key-safety.ts';
import { describeRejected, findSecrets, showValue, withoutSecrets } from './redaction.ts';
import { type ResourceSettings, readResourceSettings } from './resource-settings.ts';
import { SCHEMA, SETTING_NAMES, type SettingName, type SettingTexts, type SettingValues } from './schema.ts';
import { readSourceEntry } from './source-entry.ts';
import { findDuplicates, readSourcesFile, type SourceEntry } from './sources-file.ts';
import { findUnknownSettings, serviceLinkAdvice } from './unknown-settings.ts';
import { wrongSettings } from './wrong-settings.ts';

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
  /** Names of the jobs, for SCHEDULE_*, WEIGHT_* and FRESHNESS_TARGET_MINUTES_*. */
  resources: readonly string[];
}): Config {
  const { directory, resources, needsSource, source: chosen } = options;
  const environment = readEnvironment(options.environment, directory);
  const texts = settingTexts(environment);
  const parsed = SCHEMA.safeParse(texts);
  const perResource = readResourceSettings(environment, resources);
  const file = readSourcesFile(directory, texts.SOURCES_FILE);
  const entries = file?.entries.map(entry =>
    readSourceEntry(entry, {
      defaults: texts,
      resourceDefaults: perResource,
      textOf: environment.textOf,
      needsKey: source => needsSource && (chosen === undefined || chosen === source),
      resources,
      file: file.path,
    }),
  );
  const described = entries?.flatMap(({ source }) => source ?? []) ?? [];
  const problems = [
    ...environment.problems,
    ...rejectedSettings(parsed.error?.issues ?? [], texts),
    ...perResource.problems,
    ...findUnknownSettings(environment, file ? new Set(file.entries.map(keyVariable)) : null),
    ...(file?.problems ?? []),
    ...(needsSource && !file ? missingSource(texts) : []),
    ...(entries?.flatMap(entry => entry.problems) ?? []),
    ...(file ? findDuplicates(described, file.name) : []),
    ...findRedirectedKeys(environment, file),
  ];
  if (!parsed.success || problems.length > 0) throw wrongSettings(problems);
  const { data } = parsed;
  const sources = file ? described : [sourceOfEnvironment(data, perResource, environment)];
  return createConfig(data, {
    sources,
    warnings: findPublicKeys(environment),
    secrets: [...new Set([...findSecrets(texts), ...sources.flatMap(source => source.settings?.apiKey ?? [])])],
    shown: [
      ...showSettings(data, environment, perResource.names),
      ...(file ? sources.map(source => ({ name: source.name, value: summary(source), from: file.name })) : []),
    ],
  });
}

const keyVariable = ({ fields }: SourceEntry): string => String(fields.api_key_from);

function rejectedSettings(issues: readonly { path: PropertyKey[]; message: string }[], texts: SettingTexts): string[] {
  return issues.map(({ path, message }) => {
    const name = path[0] as SettingName;
    const text = texts[name] ?? '';
    return `${name} ${describeRejected(name, text)}; expected ${message}.${serviceLinkAdvice(name, text)}`;
  });
}

function missingSource(texts: SettingTexts): string[] {
  const expected = {
    SOURCE_URL: 'a URL such as https://books.example.com',
    SOURCE_API_KEY: 'the API key that the source shows under Settings → API Access',
  };
  return (['SOURCE_URL', 'SOURCE_API_KEY'] as const)
    .filter(name => !texts[name])
    .map(name => `${name} is not set; expected ${expected[name]}.`);
}

/** Without a sources file the environment describes one source, named after its schema. */
function sourceOfEnvironment(
  data: SettingValues,
  resourceSettings: ResourceSettings,
  { file, originOf }: RawSettings,
): SourceConfig {
  const name = data.WAREHOUSE_SCHEMA === 'warehouse' ? 'main' : data.WAREHOUSE_SCHEMA;
  const addressFile = originOf('SOURCE_URL') === '.env' ? file : null;
  return createSource(data, { name, apiKey: data.SOURCE_API_KEY, addressFile, ...resourceSettings });
}

function showSettings(data: SettingValues, { textOf, originOf }: RawSettings, perResource: readonly string[]) {
  return [
    ...SETTING_NAMES.map(name => ({ name, value: showValue(name, data[name]), from: originOf(name) })),
    ...perResource.map(name => ({ name, value: textOf(name) ?? '', from: originOf(name) })),
  ];
}

function summary({ settings, schema, limit, windowMs }: SourceConfig): string {
  const address = settings ? withoutSecrets(settings.url) : 'its key is not set';
  return `${address}, schema ${schema}, ${limit} requests in ${windowMs / SECOND} s`;
}

function createConfig(data: SettingValues, own: Pick<Config, 'sources' | 'secrets' | 'shown' | 'warnings'>): Config {
  return Object.freeze({
    sources: Object.freeze([...own.sources]),
    databaseUrl: data.DATABASE_URL ?? null,
    readerUrl: data.READER_DATABASE_URL ?? null,
    dataDir: data.SLUICE_DATA_DIR,
    host: data.SLUICE_HOST,
    port: data.SLUICE_PORT,
    token: data.SLUICE_TOKEN ?? null,
    drainMs: data.SLUICE_DRAIN_SECONDS * SECOND,
    alertWebhookUrl: data.ALERT_WEBHOOK_URL ?? null,
    freshnessLimitMs: data.FRESHNESS_LIMIT_MINUTES * MINUTE,
    pace: data.SLUICE_PACE,
    retention: {
      requests: data.RETENTION_REQUESTS_DAYS,
      runs: data.RETENTION_RUNS_DAYS,
      slots: data.RETENTION_SLOTS_DAYS,
      quarantine: data.RETENTION_QUARANTINE_DAYS,
      history: data.RETENTION_HISTORY_DAYS ?? null,
      pushes: data.RETENTION_PUSHES_DAYS ?? null,
    },
    logLevel: data.LOG_LEVEL,
    logLevelWords: data.LOG_LEVEL_FORMAT === 'word',
    secrets: own.secrets,
    shown: own.shown,
    warnings: own.warnings,
  });
}
