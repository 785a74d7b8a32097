import { databaseNow } from '../../../warehouse/database/now.ts';
import { rowsByMonth, storedKeys } from '../../../warehouse/rows/stored-rows.ts';
import { monthsHold, summedLists } from '../../agenda/closed-months.ts';
import { slicingOf } from '../../job.ts';
import type { MonthFacts } from '../../read/months/choose-months.ts';
import type { Resource } from '../../resource.ts';
import type { Engine } from '../engine.ts';

/** What the warehouse knows of the months of a report. The time comes before the rows: what changes in between counts as changed since. */
export async function knownMonths(
  { database, resources }: Pick<Engine, 'database' | 'resources'>,
  resource: Resource,
): Promise<MonthFacts> {
  const at = await databaseNow(database);
  const fields = slicingOf(resource.job, 'month')?.sumsUp ?? {};
  const lists = summedLists(resource, resources).map(({ source, name, table }) => {
    const field = fields[name] as string;
    return { source, resource: name, table, field };
  });
  const asked = [...resource.entries.values()].flatMap(entry =>
    entry.slice.by === 'total' ? [[entry.slice.month, entry] as const] : [],
  );
  return {
    at,
    keys: new Set(await storedKeys(database.kysely, resource.table)),
    asked: new Map(asked),
    summed: await rowsByMonth(database.kysely, lists),
    hold: monthsHold(resource, resources, at),
  };
}
