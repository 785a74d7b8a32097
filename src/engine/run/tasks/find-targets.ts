import { SluiceError } from '../../../errors.ts';
import { isContentKey } from '../../../source/paging/row-key.ts';
import type { Database } from '../../../warehouse/database/database.ts';
import { sliceCondition } from '../../../warehouse/rows/slice-condition.ts';
import { countRows, valuesOf } from '../../../warehouse/rows/stored-rows.ts';
import { pageSize, partition } from '../../coverage/list.ts';
import type { Resource } from '../../resource.ts';
import { dayIn, holds, wholeTime } from '../../slices/date-windows.ts';
import { type Slice, sliceText } from '../../slices/slice.ts';
import type { Engine } from '../engine.ts';

/** Pages of rows that share a value (an invoice's customer). Beyond this, a window is narrower. */
const MOST_VALUE_PAGES = 3;

/**
 * What a refresh reads: values and days as they were asked for, and what shows the rows, all of the list if nothing less does. Kind `failed` for
 * a value that the source ignores.
 */
export async function refreshTargets(
  engine: Pick<Engine, 'database' | 'timeZone'>,
  resource: Resource,
  asked: readonly Slice[],
  now: number,
): Promise<readonly Slice[]> {
  const rows = asked.filter(({ by }) => by === 'one');
  const others = asked.filter(({ by }) => by !== 'one');
  const ignored = others.find(slice => isIgnored(resource, slice));
  if (ignored)
    throw new SluiceError('failed', `The source ignores "${sliceText(ignored)}" in its list of ${resource.name}.`, {
      next: 'Name records or days instead.',
    });
  const showing: Slice[] = [];
  for (const row of rows) {
    const found = await targetsOf(engine, resource, [row], now, true);
    showing.push(...(found.length > 0 ? found : [wholeTime]));
  }
  const targets = new Map([...others, ...showing].map(slice => [sliceText(slice), slice]));
  // All of a list has rows that lie in none of its days; new ones show at its newest end.
  const newest: Slice = { by: 'newest' };
  if (targets.has(sliceText(wholeTime)) && resource.strategy.partition === 'date')
    targets.set(sliceText(newest), newest);
  return [...targets.values()];
}

/** A filter by a value, which the source was seen to ignore. */
export const isIgnored = ({ profile }: Resource, slice: Slice): boolean =>
  slice.by === 'value' && profile.ignoredFilters.has(slice.field);

/**
 * The narrowest slices that show the rows hinted at: with `asDays` their days, else the windows that hold these. A row that is not stored is sought at
 * the newest end.
 */
export async function targetsOf(
  engine: Pick<Engine, 'database' | 'timeZone'>,
  resource: Resource,
  hints: readonly Slice[],
  now: number,
  asDays = false,
): Promise<Slice[]> {
  const parts = partition(resource).filter(entry => entry.provenAt !== null);
  // The first sync reads everything anyway, newest first.
  if (parts.length === 0) return [];
  const { database } = engine;
  const found = new Map<string, Slice>();
  const add = (slice: Slice) => found.set(sliceText(slice), slice);
  const days = new Set<string>();
  const field = resource.strategy.relatedBy;
  let grown = hints.some(hint => hint.by === 'newest');
  for (const hint of hints) {
    if (hint.by === 'value' && !isIgnored(resource, hint) && (await isNarrow(database, resource, hint))) add(hint);
    if (hint.by !== 'one') continue;
    const ofRow = async (column: string) => {
      const [value] = (await valuesOf(database.kysely, resource.table, column, [hint.key])).values();
      return value;
    };
    if ((await ofRow(resource.table.key.name)) === undefined) {
      grown = true;
      continue;
    }
    const value = field === null ? undefined : await ofRow(field);
    const narrow: Slice | null = field === null || value === undefined ? null : { by: 'value', field, value };
    if (narrow && (await isNarrow(database, resource, narrow))) add(narrow);
    else if (resource.strategy.partition === 'id' && !isContentKey(hint.key))
      add({ by: 'id', from: BigInt(hint.key), to: BigInt(hint.key) });
    else if (resource.dates) {
      const day = await ofRow(resource.dates.field);
      if (day !== undefined) days.add(day);
    }
  }
  // In a list without order, new rows can be anywhere; a new row is usually dated today.
  if (grown && resource.profile.order === 'none') days.add(dayIn(now, engine.timeZone));
  for (const { slice } of parts) {
    if (slice.by !== 'date') continue;
    for (const day of days) if (holds(slice, day)) add(asDays ? { by: 'date', from: day, to: day } : slice);
  }
  if (!grown) return [...found.values()];
  if (resource.strategy.partition !== 'id') add({ by: 'newest' });
  for (const { slice } of parts) if (slice.by === 'id' && slice.to === null) add(slice);
  return [...found.values()];
}

async function isNarrow(database: Database, resource: Resource, slice: Slice): Promise<boolean> {
  const { rows } = await countRows(database.kysely, resource.table, sliceCondition(slice, resource.table, undefined));
  return rows <= MOST_VALUE_PAGES * pageSize(resource);
}
