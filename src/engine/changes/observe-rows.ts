import { stampMs } from '../../clock.ts';
import type { Db } from '../../warehouse/database/database.ts';
import { countElsewhere, keepWindows } from '../../warehouse/rows/row-windows.ts';
import { countUnchanged } from '../../warehouse/rows/stored-rows.ts';
import type { Row } from '../../warehouse/rows/write/row.ts';
import { remember, resourceIn, type TransactionEffects } from '../conclude/transaction-effects.ts';
import { partition } from '../coverage/list.ts';
import { fieldsBesideKey } from '../job.ts';
import type { Observation } from '../profile/observation.ts';
import { observeOtherOrders, openSortKeys } from '../profile/observe-order.ts';
import {
  editsToCheck,
  fieldsCarried,
  newFields,
  staysInPlace,
  undatedRows,
  windowsIgnored,
} from '../profile/observe-rows.ts';
import { observeVolatile, seeExtras } from '../profile/observe-volatile.ts';
import type { Step } from '../read/step.ts';
import { placeOf } from '../resource.ts';
import { wholeTime, widened } from '../slices/date-windows.ts';
import { overlap, sliceText } from '../slices/slice.ts';

/** Stores which windows returned the rows. */
export async function noteWindows(tx: Db, effects: TransactionEffects, steps: readonly Step[]): Promise<void> {
  const { resource } = effects;
  for (const { task, slice, rows } of steps) {
    const seenAt = rows[0]?.readAt;
    if (seenAt === undefined) continue;
    const keys = rows.map(row => row.key);
    const asked = slice.by === 'date' ? widened(slice) : wholeTime;
    const elsewhere = await countElsewhere(tx, placeOf(resource), keys, asked);
    const observed = windowsIgnored(slice, rows.length, elsewhere);
    if (observed) remember(effects, task, observed);
    await keepWindows(tx, placeOf(resource), keys, asked, seenAt);
  }
}

export const observeUndated = ({ resource, rows }: Step): Observation[] => {
  const { dates, profile, strategy } = resource;
  return dates && !profile.hasUndated
    ? undatedRows(
        dates.field,
        rows.map(row => row.values),
        strategy,
      )
    : [];
};

/** An address of its own may show a row with fields that lists omit. */
export const observeFields = ({ resource, slice, rows }: Step): Observation[] =>
  slice.by === 'one'
    ? []
    : fieldsCarried(
        resource.profile,
        newFields(resource.profile, fieldsBesideKey(resource.job), field =>
          rows.some(row => field in row.values || field in row.children),
        ),
      );

/** A list of related rows, and the address of one, may show other fields than the list itself. */
export function observeExtras({ resource, slice, rows }: Step): Observation[] {
  const [first] = rows;
  if (slice.by === 'one' || slice.by === 'value' || first === undefined) return [];
  const { volatile } = resource.profile;
  resource.extras = seeExtras(resource.extras, volatile, rows);
  return observeVolatile(volatile, resource.extras, stampMs(first.readAt));
}

/** Only the list itself shows its order; a filter may be answered in another. */
export function observeSortKeys({ resource: { profile, job }, slice, rows }: Step): Observation[] {
  if (slice.by !== 'newest' && slice.by !== 'id') return [];
  const open = openSortKeys(profile, job);
  const isExtra = open.some(field => profile.drift?.unknown.has(field));
  return observeOtherOrders(profile, open, isExtra ? rows.map(withExtra) : rows);
}

/** Its unknown fields as values, too; nested ones are in no order. */
function withExtra({ key, values, extra }: Row): Pick<Row, 'key' | 'values'> {
  const unknown = Object.entries((JSON.parse(extra ?? '{}') ?? {}) as Readonly<Record<string, unknown>>);
  const texts = unknown.map(([field, value]) => [field, value === null ? null : String(value)] as const);
  return { key, values: { ...Object.fromEntries(texts), ...values } };
}

/** Observes whether edited rows keep their place in id order. Queries the database only where the page allows a conclusion. */
export async function observeEdits(
  tx: Db,
  effects: TransactionEffects,
  { resource, slice, rows }: Step,
  changed: ReadonlySet<string>,
  edited: readonly string[],
): Promise<Observation | null> {
  const list = resourceIn(effects);
  const parts = partition(list).filter(entry => entry.slice.by === slice.by && overlap(entry.slice, slice));
  const provenBy = Math.min(...parts.map(entry => entry.provenAt ?? Number.NEGATIVE_INFINITY));
  if (!Number.isFinite(provenBy)) return null;
  const keys = rows.map(row => row.key);
  for (const { key, behind } of editsToCheck(resource.profile, keys, changed, edited)) {
    const unchanged = await countUnchanged(tx, resource.table, behind, provenBy);
    if (staysInPlace(unchanged)) {
      const evidence = `row ${key} was edited, and kept its place in "${sliceText(slice)}"`;
      return { trait: 'edits', value: 'in place', evidence };
    }
  }
  return null;
}
