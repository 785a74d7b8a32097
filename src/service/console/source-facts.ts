import { explain } from '../../errors.ts';
import { type ServedTick, servedTicks } from '../../warehouse/reports/served-ticks.ts';
import type { ServedSource } from '../status/served-source.ts';
import { readSourceStatus, type SourceStatus } from '../status/source-status.ts';
import { oldestTick } from '../status/up-to-date.ts';
import type { ConsoleParts } from './console-parts.ts';

/** What is known of one source; a reason where its state cannot be read, for example because the schema is gone. */
export type SourceFacts = {
  readonly name: string;
  readonly timeZone: string;
} & (KnownSource | { readonly unreadable: string });

export interface KnownSource {
  readonly status: SourceStatus;
  /** The newest tick of each scheduled resource that was served. */
  readonly ticks: readonly ServedTick[];
  /** The oldest of those (epoch ms); null while one was never served, or none has a schedule. */
  readonly upToDateAt: number | null;
  readonly nextTickAt: number | null;
}

export async function readSourceFacts(
  { database, hide, log }: ConsoleParts,
  source: ServedSource,
): Promise<SourceFacts> {
  const { name, timeZone } = source;
  try {
    const status = await readSourceStatus(database, { ...source, isServed: true });
    const ticks = await servedTicks(database.kysely, name, source.scheduled);
    return {
      name,
      timeZone,
      status,
      ticks,
      upToDateAt: oldestTick(ticks),
      nextTickAt: source.nextTickAt(status.readAt),
    };
  } catch (error) {
    log.warn({ source: name, err: error }, 'could not read the state of a source');
    return { name, timeZone, unreadable: hide(explain(error)) };
  }
}
