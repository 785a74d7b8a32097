import { HOUR } from '../../../clock.ts';
import { REPORT } from '../../../warehouse/ledgers/cursors.ts';
import { countByDay } from '../../../warehouse/rows/stored-rows.ts';
import { daysToCount, resizeWindows } from '../../coverage/resize.ts';
import type { Resource } from '../../resource.ts';
import { dayIn } from '../../slices/date-windows.ts';
import { parseSlice } from '../../slices/slice.ts';
import type { Loop } from '../engine.ts';
import { knownMissing } from '../known-missing.ts';
import type { Agenda } from './agenda.ts';

const EVERY_MS = HOUR;

/** Once an hour, makes the windows of each list as large as is worth a reading each. What is being read stays as it is. */
export async function resize(loop: Loop, { tasks, memory: { resizedAt } }: Agenda, now: number): Promise<void> {
  for (const resource of tasks.keys()) {
    if (resource.reading.size > 0 || now - (resizedAt.get(resource.name) ?? Number.NEGATIVE_INFINITY) < EVERY_MS)
      continue;
    resizedAt.set(resource.name, now);
    await resizeList(loop, resource, dayIn(now, loop.engine.timeZone));
  }
}

async function resizeList({ engine, committer }: Loop, resource: Resource, today: string): Promise<void> {
  if (resource.dates === undefined) return;
  const missing = await knownMissing(engine, resource);
  const referred = [...missing.map(({ slice }) => slice), ...readingsOf(resource)];
  const keep = referred.map(parseSlice);
  const days = daysToCount(resource, today, keep);
  const rowsOn = days
    ? await countByDay(engine.database.kysely, resource.table, resource.dates.field, days)
    : new Map<string, number>();
  const change = resizeWindows(resource, { today, rowsOn, keep });
  if (change !== null) await committer.change(resource, () => change);
}

/** Slices that are half read. Those of a report keep no proof. */
const readingsOf = ({ cursor }: Resource): string[] =>
  Object.keys(cursor.readings).filter(name => !name.startsWith(REPORT));
