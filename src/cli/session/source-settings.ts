import { createLedger, type Ledger } from '../../budget/ledger.ts';
import type { Job } from '../../engine/job.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { recogniseSource } from '../../warehouse/ledgers/sources.ts';

/** How to reach one installation, and how fast. */
export interface SourceSettings {
  readonly url: string;
  readonly apiKey: string;
  readonly auth: 'bearer' | 'query';
  readonly pageSize: number | 'auto';
  /** Requests per window of `windowMs`. */
  readonly limit: number;
  readonly windowMs: number;
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly timeZone: string;
}

/** One source of the settings. */
export interface NamedSource {
  /** Its name in the bookkeeping, in `--source` and in the log. */
  readonly name: string;
  readonly schema: string;
  readonly timeZone: string;
  /** Null while its address or key is not set; only commands that send no request accept that. */
  readonly settings: SourceSettings | null;
  readonly limit: number;
  readonly windowMs: number;
  /** Resource to cron expression or `off`, where it overrides the job. */
  readonly schedules: Readonly<Record<string, string>>;
  readonly scheduleTimeZone: string;
  /** Resource to its weight, if not 1. */
  readonly weights: Readonly<Record<string, number>>;
}

/** A source whose address and key are set. */
export type OpenSource = NamedSource & { readonly settings: SourceSettings };

/** Resource to cron expression, without the resources whose schedule is off. */
export const schedulesOf = ({ schedules }: NamedSource, jobs: ReadonlyMap<string, Job>): Map<string, string> =>
  new Map(
    [...jobs]
      .map(([resource, job]) => [resource, schedules[resource] ?? job.schedule] as const)
      .filter(([, schedule]) => schedule !== 'off'),
  );

export const isOpen = (source: NamedSource): source is OpenSource => source.settings !== null;

/** The ledger of requests of the source's key, shared by all processes. */
export const openLedger = (database: Database, name: string, source: SourceSettings): Ledger =>
  createLedger({ ...source, database, source: name });

/** Kind `configuration` if the source under this name used to be another installation; `moved` confirms a new address. */
export const recognise = (database: Database, { name, schema, settings }: OpenSource, moved = false): Promise<void> =>
  recogniseSource(database.kysely, { source: name, url: settings.url, schema, moved });
