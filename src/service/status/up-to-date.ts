import type { Database } from '../../warehouse/database/database.ts';
import { type ServedTick, servedTicks } from '../../warehouse/reports/served-ticks.ts';
import type { ServedSource } from './served-source.ts';

/** As of which tick (epoch ms) all that was due of the source was read; null while that is not known. */
export const readUpToDate = async (
  database: Database,
  { name, scheduled }: Pick<ServedSource, 'name' | 'scheduled'>,
): Promise<number | null> => oldestTick(await servedTicks(database.kysely, name, scheduled));

/** The oldest of the newest ticks; null while one was never served, or none has a schedule. */
export function oldestTick(ticks: readonly ServedTick[]): number | null {
  const served = ticks.flatMap(({ at }) => at ?? []);
  return served.length > 0 && served.length === ticks.length ? Math.min(...served) : null;
}
