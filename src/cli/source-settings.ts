import { createLedger, type Ledger } from '../budget/ledger.ts';
import type { Job } from '../engine/job.ts';
import type { Database } from '../warehouse/database/database.ts';
import { recogniseSource } from '../warehouse/ledgers/sources.ts';

/** One installation and how it may be asked. */
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

/** One source as the settings name it. */
export interface NamedSource {
  /** What the bookkeeping, `--source` and the log call it. */
  readonly name: string;
  readonly schema: string;
  readonly timeZone: string;
  /** Null while its address or key is not set, which only commands that do not ask the source allow. */
  readonly settings: SourceSettings | null;
  readonly limit: number;
  readonly windowMs: number;
  /** Resource to cron expression or `off`, where it is not as the job says. */
  readonly schedules: Readonly<Record<string, string>>;
  readonly scheduleTimeZone: string;
  /** Resource to its weight, where that is not 1. */
  readonly weights: Readonly<Record<string, number>>;
}

/** A source whose address and key are set. */
export type OpenSource = NamedSource & { readonly settings: SourceSettings };

/** Resource to cron expression, of those that the source's schedule has read: not of those that are switched off there. */
export const schedulesOf = ({ schedules }: NamedSource, jobs: ReadonlyMap<string, Job>): Map<string, string> =>
  new Map(
    [...jobs]
      .map(([resource, job]) => [resource, schedules[resource] ?? job.schedule] as const)
      .filter(([, schedule]) => schedule !== 'off'),
  );

export const isOpen = (source: NamedSource): source is OpenSource => source.settings !== null;

/** The requests of its key, as all processes count them. */
export const openLedger = (database: Database, name: string, source: SourceSettings): Ledger =>
  createLedger({ ...source, database, source: name });

/** Kind `configuration` when it is not the source that was read by its name so far; `moved` says that it only has a new address. */
export const recognise = (database: Database, { name, schema, settings }: OpenSource, moved = false): Promise<void> =>
  recogniseSource(database.kysely, { source: name, url: settings.url, schema, moved });
