/** What it takes to read a source. */
export interface SourceSettings {
  readonly url: string;
  readonly apiKey: string;
  readonly auth: 'bearer' | 'query';
  readonly pageSize: number | 'auto';
  /** Requests allowed in any window of `windowMs`. */
  readonly limit: number;
  readonly windowMs: number;
  readonly concurrency: number;
  readonly timeoutMs: number;
  /** How far an answer may lag behind the source. */
  readonly lagMs: number;
  /** Names of fields that are not stored, beside those that say that they hold a secret. */
  readonly never: readonly string[];
  readonly timeZone: string;
}

/** Checked settings of one source. */
export interface SourceConfig {
  /** Identifies the source in the bookkeeping, in `--source` and in the log. */
  readonly name: string;
  readonly schema: string;
  /** The file that the address comes from; null if that is the environment, or none is set. */
  readonly addressFile: string | null;
  readonly timeZone: string;
  /** Null while the URL or the key is not set; only commands that do not contact the source allow that. */
  readonly settings: SourceSettings | null;
  readonly limit: number;
  readonly windowMs: number;
  /** Resource to cron expression or `off`, where it differs from the job's own schedule. */
  readonly schedules: Readonly<Record<string, string>>;
  readonly scheduleTimeZone: string;
  /** Resource to weight, where it is not 1. */
  readonly weights: Readonly<Record<string, number>>;
  /** Resource to the minutes after which a change should arrive on average, where a target is set. */
  readonly targetMinutes: Readonly<Record<string, number>>;
  /** Resource to whether earlier versions of its rows are kept, where it differs from the job. */
  readonly history: Readonly<Record<string, boolean>>;
  /** What amounts are in, such as EUR; null if nobody said. */
  readonly currency: string | null;
  /** No part of a list stays unread for longer than so many times what it takes to read everything once. */
  readonly mostSweeps: number;
}

/** What is set by resource. */
export type ResourceSettings = Pick<SourceConfig, 'schedules' | 'weights' | 'targetMinutes' | 'history'>;

/** All settings, checked and frozen. */
export interface Config {
  /** The entries of the sources file, or the one source that the environment describes. */
  readonly sources: readonly SourceConfig[];
  /** Null: use the embedded server. */
  readonly databaseUrl: string | null;
  /** The login that may only read; null: none was given. */
  readonly readerUrl: string | null;
  readonly dataDir: string;
  readonly host: string;
  readonly port: number;
  readonly token: string | null;
  readonly drainMs: number;
  readonly alertWebhookUrl: string | null;
  readonly freshnessLimitMs: number;
  /** How the service spends requests: evenly at all times, or only at the ticks of the schedule. */
  /** Days that finished bookkeeping and history are kept; null: for ever. */
  readonly retention: {
    readonly requests: number;
    readonly runs: number;
    readonly slots: number;
    readonly quarantine: number;
    readonly history: number | null;
    readonly pushes: number | null;
  };
  readonly logLevel: string;
  /** Log lines name their level, `info` in place of 30. */
  readonly logLevelWords: boolean;
  /** Values that must appear in no output. */
  readonly secrets: readonly string[];
  /** In the form that is safe to show. `from`: `default`, `environment`, `.env`, or the name of the sources file. */
  readonly shown: readonly { readonly name: string; readonly value: string; readonly from: string }[];
  /** For whoever runs a command: what is accepted although it is unsafe. */
  readonly warnings: readonly string[];
}
