import type { Database } from '../warehouse/database.ts';
import { createLedger, type Ledger } from '../warehouse/ledger.ts';

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

/** The requests of its key, as all processes count them. */
export const openLedger = (database: Database, name: string, source: SourceSettings): Ledger =>
  createLedger({ ...source, database, source: name });
