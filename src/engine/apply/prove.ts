import type { Db } from '../../warehouse/database/database.ts';
import type { Entry } from '../../warehouse/ledgers/coverage.ts';
import { keptIn } from '../../warehouse/rows/row-windows.ts';
import { sliceCondition } from '../../warehouse/rows/slice-condition.ts';
import { countRows } from '../../warehouse/rows/stored-rows.ts';
import type { End } from '../read/step.ts';
import { keepsWindows, pageSize, partition, placeOf, type Resource } from '../resource.ts';
import { widened, within } from '../slices/date-windows.ts';
import { isId, subtract } from '../slices/id-ranges.ts';
import { learn } from '../slices/next-slice.ts';
import { type IdSlice, type Slice, sliceText } from '../slices/slice.ts';
import { type Draft, drafted, replaceEntries } from './draft.ts';

/** The windows that lie in what was read are proven, each with its own rows and changes. */
export async function proveWindows(
  tx: Db,
  draft: Draft,
  end: Extract<End, { kind: 'proven' }>,
  at: number,
  left: number,
): Promise<void> {
  const { resource } = draft;
  const entries = partition(drafted(draft)).filter(entry => covers(end.slice, entry.slice));
  const proven: Entry[] = [];
  for (const [index, entry] of entries.entries()) {
    const { rows, changed } = await countIn(tx, resource, entry.slice, end.startedAt);
    proven.push(prove(resource, entry, at, rows, changed + (index === 0 ? left : 0)));
  }
  await replaceEntries(tx, draft, [], proven);
}

export async function proveInterval(
  tx: Db,
  draft: Draft,
  interval: IdSlice,
  at: number,
  left: number,
  changed: ReadonlySet<string>,
): Promise<void> {
  const { resource } = draft;
  const touched = partition(drafted(draft)).filter(
    (entry): entry is Entry & { slice: IdSlice } =>
      entry.slice.by === 'id' &&
      subtract(entry.slice, interval).every(part => sliceText(part) !== sliceText(entry.slice)),
  );
  const put: Entry[] = [];
  let watchedBefore = 0;
  let changedBefore = 0;
  let hours = 0;
  for (const entry of touched) {
    const parts = subtract(entry.slice, interval);
    let rest = 0;
    for (const slice of parts) {
      const { rows } = await countIn(tx, resource, slice, null);
      const part = rows / Math.max(entry.rows ?? rows, rows, 1);
      rest += part;
      put.push({ ...entry, slice, rows: entry.provenAt === null ? null : rows, changed: entry.changed * part });
    }
    if (entry.provenAt === null) continue;
    watchedBefore++;
    changedBefore += entry.changed * Math.max(1 - rest, 0);
    hours += entry.hoursWatched;
  }
  const { rows } = await countIn(tx, resource, interval, null);
  // Only what was proven before can be seen to change; the oldest of those proofs is what this reading renews.
  const old = touched.filter(entry => entry.provenAt !== null);
  const news = [...changed].filter(key => old.some(entry => inInterval(entry.slice, key))).length;
  const base: Entry = {
    slice: interval,
    provenAt: old.length > 0 ? Math.min(...old.map(entry => entry.provenAt as number)) : null,
    readAt: null,
    requests: 1,
    rows,
    changed: changedBefore,
    hoursWatched: watchedBefore > 0 ? hours / watchedBefore : 0,
    dueSince: null,
    dueReason: null,
  };
  put.push(prove(resource, base, at, rows, news + left));
  await replaceEntries(
    tx,
    draft,
    touched.map(entry => entry.slice),
    put,
  );
}

/** Rows without an id lie in none. */
export const inInterval = (slice: IdSlice, key: string): boolean => {
  if (!isId(key)) return false;
  const id = BigInt(key);
  return (slice.from === null || slice.from <= id) && (slice.to === null || id <= slice.to);
};

function prove(resource: Resource, entry: Entry, at: number, rows: number, changed: number): Entry {
  const requests = Math.max(Math.ceil(rows / pageSize(resource)), 1);
  return { ...learn(entry, { at, changed, rows, requests }), dueSince: null, dueReason: null };
}

const countIn = (tx: Db, resource: Resource, slice: Slice, startedAt: string | null) =>
  countRows(tx, resource.table, membersOf(resource, slice), startedAt);

/** Which stored rows lie in the slice: by their columns, or by the windows that returned them. */
export const membersOf = (resource: Resource, slice: Slice) =>
  slice.by === 'date' && keepsWindows(resource)
    ? keptIn(placeOf(resource), resource.table, widened(slice))
    : sliceCondition(slice, resource.table, resource.dates?.field);

/** A part of a slice that was split inherits its proof, and its history by the rows it is thought to have. */
export function share(
  parent: Entry | undefined,
  slice: Slice,
  parts: number,
  total: number | null,
  resource: Resource,
): Entry {
  const rows = Math.ceil((total ?? parent?.rows ?? pageSize(resource)) / parts);
  return {
    slice,
    provenAt: parent?.provenAt ?? null,
    readAt: parent?.readAt ?? null,
    requests: Math.max(Math.ceil(rows / pageSize(resource)), 1),
    rows,
    changed: (parent?.changed ?? 0) / parts,
    hoursWatched: parent?.hoursWatched ?? 0,
    dueSince: parent?.dueSince ?? null,
    dueReason: parent?.dueReason ?? null,
  };
}

/** True when `part` lies in what was read. */
export function covers(read: Slice, part: Slice): boolean {
  if (read.by === 'date' && part.by === 'date') return within(part, read.from, read.to);
  if (read.by === 'id' && part.by === 'id') return subtract(part, read).length === 0;
  return read.by === part.by;
}
