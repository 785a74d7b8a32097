import { HOUR } from '../../../clock.ts';
import { REPORT } from '../../../warehouse/ledgers/cursors.ts';
import { countByDay } from '../../../warehouse/rows/stored-rows.ts';
import { cutWindows, firstDayToCount } from '../../agenda/cut-windows.ts';
import type { Resource } from '../../resource.ts';
import { dayIn } from '../../slices/date-windows.ts';
import { parseSlice } from '../../slices/slice.ts';
import type { Loop } from '../engine.ts';
import { knownMissing } from '../known-missing.ts';
import type { Agenda } from './agenda.ts';
import { forList } from './settle.ts';

const EVERY_MS = HOUR;

/** Once an hour, cuts the windows of each list anew. What is being read stays as it is. */
export async function cutLists(loop: Loop, agenda: Agenda, now: number): Promise<void> {
  const { cutAt } = agenda.memory;
  for (const [resource, task] of agenda.tasks) {
    if (resource.reading.size > 0 || now - (cutAt.get(resource.name) ?? Number.NEGATIVE_INFINITY) < EVERY_MS) continue;
    cutAt.set(resource.name, now);
    await forList(loop, agenda, task, () => cutList(loop, resource, now));
  }
}

async function cutList({ engine, committer }: Loop, resource: Resource, now: number): Promise<void> {
  if (resource.dates === undefined) return;
  const missing = await knownMissing(engine, resource);
  const referred = [...missing.map(({ slice }) => slice), ...readingsOf(resource)];
  const keep = referred.map(parseSlice);
  const first = firstDayToCount(resource, keep);
  if (first === null) return;
  const rowsOn = await countByDay(engine.database.kysely, resource.table, resource.dates.field, first);
  const change = cutWindows(resource, { today: dayIn(now, engine.timeZone), now, rowsOn, keep });
  if (change !== null) await committer.change(resource, () => change);
}

/** Slices that are half read. Those of a report keep no proof. */
const readingsOf = ({ cursor }: Resource): string[] =>
  Object.keys(cursor.readings).filter(name => !name.startsWith(REPORT));
