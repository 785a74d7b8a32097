import { MINUTE, SECOND } from '../clock.ts';
import { wrongSettings } from './environment.ts';
import { reservedOf, whyTooMuch } from './reserve.ts';
import type { ResourceSettings } from './resource-settings.ts';
import type { SettingValues, SourceValues } from './schema.ts';

export type Config = ReturnType<typeof createConfig>;

export type SourceConfig = ReturnType<typeof createSource>;

/** What it takes to read a source. */
export type SourceSettings = NonNullable<SourceConfig['settings']>;

export function createSource(
  data: SourceValues,
  own: {
    /** Identifies the source in the bookkeeping, in `--source` and in the log. */
    readonly name: string;
    readonly apiKey: string | undefined;
    /** The file that the address comes from; null if that is the environment, or none is set. */
    readonly addressFile: string | null;
    readonly perResource: ResourceSettings;
  },
) {
  const { SOURCE_URL: url, SOURCE_TIMEZONE: timeZone } = data;
  const { name, apiKey, addressFile, perResource } = own;
  const windowMs = data.SOURCE_RATE_WINDOW_SECONDS * SECOND;
  const timeoutMs = data.SOURCE_TIMEOUT_SECONDS * SECOND;
  const rateLimit = data.SOURCE_RATE_LIMIT;
  const reserved = reservedOf(data.SOURCE_RESERVE, { limit: rateLimit, windowMs, timeoutMs, timeZone });
  const tooMuch = whyTooMuch(reserved, rateLimit);
  if (tooMuch !== null) throw wrongSettings([`SOURCE_RESERVE of source "${name}" ${tooMuch}; expected less.`]);
  const limits = { windowMs, limit: rateLimit - reserved.least };
  const how = {
    auth: data.SOURCE_AUTH,
    pageSize: data.SOURCE_PAGE_SIZE,
    ...limits,
    concurrency: data.SOURCE_CONCURRENCY,
    timeoutMs,
    /** How far an answer may lag behind the source. */
    lagMs: data.SOURCE_LAG_SECONDS * SECOND,
    timeZone,
  };
  return Object.freeze({
    name,
    schema: data.WAREHOUSE_SCHEMA,
    addressFile,
    timeZone,
    /** Null while the URL or the key is not set; only commands that do not contact the source allow that. */
    settings: url && apiKey ? Object.freeze({ url, apiKey, ...how }) : null,
    /** Requests that Sluice may send in any window of `windowMs`: at the hour of the day that leaves the fewest to other programs. */
    ...limits,
    /** Requests allowed in any window, ours and those of other programs with the key. */
    rateLimit,
    /** Requests per window that are left to others at a moment (epoch ms). */
    reservedAt: reserved.at,
    /** The same as it was set, such as `30%`; null for none. */
    reserve: data.SOURCE_RESERVE ?? null,
    ...perResource,
    /** Fields that are not stored, beside those whose names say that they hold a secret: `iban`, or `customers.phone` of one list. */
    never: data.SOURCE_NEVER,
    /** Fields of lists of which a hash is stored: `customers.email`. */
    hash: data.SOURCE_HASH,
    scheduleTimeZone: data.SCHEDULE_TIMEZONE,
    /** What amounts are in, such as EUR; null if nobody said. */
    currency: data.SOURCE_CURRENCY ?? null,
    /** No part of a list stays unread for longer than so many times what it takes to read everything once. */
    mostSweeps: data.FRESHNESS_MOST_SWEEPS,
  });
}

export function createConfig(
  data: SettingValues,
  own: {
    /** The entries of the sources file, or the one source that the environment describes. */
    readonly sources: readonly SourceConfig[];
    /** The path of the sources file; null without one. */
    readonly sourcesFile: string | null;
    /** Values that must appear in no output. */
    readonly secrets: readonly string[];
    /** In the form that is safe to show. `from`: `default`, `environment`, `.env`, or the name of the sources file. */
    readonly shown: readonly { readonly name: string; readonly value: string; readonly from: string }[];
    /** For whoever runs a command: what is accepted although it is unsafe. */
    readonly warnings: readonly string[];
  },
) {
  return Object.freeze({
    ...own,
    /** Of all sources, whichever of them a command works on. */
    sourceNames: own.sources.map(({ name }) => name),
    /** Null: use the embedded server. */
    databaseUrl: data.DATABASE_URL ?? null,
    /** The login that may only read; null: none was given. */
    readerUrl: data.READER_DATABASE_URL ?? null,
    /** The key of all hashes; null: none was given. */
    hashKey: data.SLUICE_HASH_KEY ?? null,
    dataDir: data.SLUICE_DATA_DIR,
    host: data.SLUICE_HOST,
    port: data.SLUICE_PORT,
    token: data.SLUICE_TOKEN ?? null,
    drainMs: data.SLUICE_DRAIN_SECONDS * SECOND,
    alertWebhookUrl: data.ALERT_WEBHOOK_URL ?? null,
    /** Alerts may go to an address in a private network. */
    alertAllowsPrivate: data.ALERT_ALLOW_PRIVATE === 'yes',
    freshnessLimitMs: data.FRESHNESS_LIMIT_MINUTES * MINUTE,
    /** Days that finished bookkeeping and history are kept; null: for ever. */
    retention: {
      requests: data.RETENTION_REQUESTS_DAYS,
      runs: data.RETENTION_RUNS_DAYS,
      slots: data.RETENTION_SLOTS_DAYS,
      quarantine: data.RETENTION_QUARANTINE_DAYS,
      history: data.RETENTION_HISTORY_DAYS ?? null,
      pushes: data.RETENTION_PUSHES_DAYS ?? null,
    },
    logLevel: data.LOG_LEVEL,
    /** Log lines name their level, `info` in place of 30. */
    logLevelWords: data.LOG_LEVEL_FORMAT === 'word',
  });
}
