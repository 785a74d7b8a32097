import { writeCoverage } from '../../warehouse/ledgers/coverage.ts';
import { writeTrait } from '../../warehouse/ledgers/traits.ts';
import { forgetLackedBy } from '../../warehouse/rows/missing.ts';
import { countQuarantined } from '../../warehouse/rows/quarantine.ts';
import { countRows } from '../../warehouse/rows/stored-rows.ts';
import { lackedByAll } from '../apply/gone.ts';
import { MOST_PAGES } from '../read/read-pages.ts';
import { absentEntries, partition, partitionOf, placeOf, type Resource } from '../resource.ts';
import { type Slice, sliceText } from '../slices/slice.ts';
import type { Next } from './choose.ts';
import type { Engine } from './engine.ts';
import type { Task } from './task.ts';

/**
 * Rows without a date lie in no window. When every window was read and the source still counts more rows than there are, the
 * count is asked for again, and if it is what it was before the windows were read, the list is cut otherwise from then on. Where
 * it has changed, rows that came in the meantime may make the difference: a later task finds out.
 */
export async function recount(engine: Engine, task: Task): Promise<Next> {
  const { resource } = task;
  const everything = task.kind === 'sync' || (task.kind === 'verify' && !task.reportOnly);
  if (!everything || partitionOf(resource) !== 'date' || partition(resource).some(entry => entry.provenAt === null))
    return 'done';
  if (resource.total == null && task.kind === 'sync') return 'done';
  const { kysely } = engine.database;
  const { rows } = await countRows(kysely, resource.table, null);
  const quarantined = resource.quarantined ? await countQuarantined(kysely, placeOf(resource), resource.table) : 0;
  const held = rows + quarantined - (await lackedByAll(kysely, resource)).length;
  if (resource.total != null && resource.total <= held) return 'done';
  if (task.counted === null) return 'done';
  if (!task.settled.has('recount')) {
    task.settled.add('recount');
    return { slice: { by: 'newest' }, answers: MOST_PAGES, gathered: false, counted: false };
  }
  if (resource.total == null || resource.total !== task.counted) return 'done';
  const evidence = `the source counts ${resource.total} rows, its date windows show ${held}`;
  await writeTrait(kysely, engine.source, {
    resource: resource.name,
    trait: 'undated',
    value: 'yes',
    evidence,
  });
  resource.traits.set('undated', 'yes');
  return 'blocked';
}

/**
 * A list that turned out to be ordered or filtered otherwise is cut anew; what was known of the old slices is dropped. So is what
 * they lacked: they were taken to be in an order that the list is not in, and a row is gone only when two true readings lack it.
 */
export async function dropOtherPartitions(engine: Engine, resource: Resource): Promise<void> {
  if (resource.reading.size > 0) return;
  const by = partitionOf(resource);
  const kinds = (['id', 'date', 'whole'] as const).filter(kind => kind !== by);
  const others: Slice[] = [...resource.entries.values()]
    .map(entry => entry.slice)
    .filter(slice => kinds.some(kind => kind === slice.by));
  if (others.length === 0) return;
  const place = placeOf(resource);
  await engine.database.kysely.transaction().execute(async tx => {
    await writeCoverage(tx, place, others, []);
    await forgetLackedBy(tx, place, kinds);
  });
  for (const slice of others) resource.entries.delete(sliceText(slice));
  resource.missing = null;
}

/** The source does not offer the list: nothing of it is left to read. */
export async function leaveOut(engine: Engine, task: Task, now: number): Promise<void> {
  const { resource } = task;
  task.absent = true;
  if (task.reportOnly) return;
  const entries = absentEntries(resource, now);
  await writeCoverage(engine.database.kysely, placeOf(resource), [], entries);
  for (const entry of entries) resource.entries.set(sliceText(entry.slice), entry);
}
