import { explain } from '../../errors.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { servedTicks } from '../../warehouse/reports/served-ticks.ts';
import type { ServedSource } from '../status/served-source.ts';
import { readSourceStatus, type SourceStatus } from '../status/source-status.ts';
import type { ConsoleParts } from './console-parts.ts';

/** What is known of one source; a reason where its state cannot be read, for example because the schema is gone. */
export type SourceFacts = {
  readonly name: string;
  readonly timeZone: string;
} & (KnownSource | { readonly unreadable: string });

export interface KnownSource {
  readonly status: SourceStatus;
  /** The oldest of the ticks that the resources were served last (epoch ms); null while one was never served, or none has a schedule. */
  readonly upToDateAt: number | null;
}

export async function readSourceFacts(
  { database, hide, log }: ConsoleParts,
  source: ServedSource,
): Promise<SourceFacts> {
  const { name, timeZone } = source;
  try {
    const status = await readSourceStatus(database, { ...source, isServed: true });
    return { name, timeZone, status, upToDateAt: await readUpToDate(database, source) };
  } catch (error) {
    log.warn({ source: name, err: error }, 'could not read the state of a source');
    return { name, timeZone, unreadable: hide(explain(error)) };
  }
}

async function readUpToDate(database: Database, { name, scheduled }: ServedSource): Promise<number | null> {
  const ticks = await servedTicks(database.kysely, name, scheduled);
  const served = ticks.flatMap(({ at }) => at ?? []);
  return served.length > 0 && served.length === ticks.length ? Math.min(...served) : null;
}
