import { groupBy } from '../group-by.ts';

/** A change of a row that was seen. They are numbered in the order in which they were, over all lists of a source. */
export interface SeenChange {
  readonly number: number;
  readonly resource: string;
  readonly key: string;
  readonly kind: 'inserted' | 'updated' | 'deleted' | 'revived';
  /** Epoch milliseconds. */
  readonly seenAt: number;
  /** The latest change of the row before which it was as this one leaves it; null if it was never like that. */
  readonly takesBack: number | null;
}

/** A source that shows again what it showed some time ago: it was restored from a backup, or a copy of it answers. */
export interface Restore {
  /** The first change that it took back, and when that was seen (epoch ms): what it shows is older. */
  readonly first: number;
  readonly firstSeenAt: number;
  /** When the first sign of it was seen (epoch ms). */
  readonly noticedAt: number;
  /** Rows that had changed in between, and how many of them are as before, by list. */
  readonly changed: number;
  readonly back: ReadonlyMap<string, number>;
}

/** Fewer rows are put back by people. */
const FEWEST = 5;
/** So many of the rows that had changed are as before; the others were not read since, or have changed again. */
const MOST = 0.8;
/** A list in which more changes take others back at other times says nothing: its rows come and go, or are switched on and off. */
const USUAL = { few: 2, share: 0.1 };
/** So many changes are looked at as the first sign: of more, each second one, or third, and so on. */
const MOST_LOOKED_AT = 50;

type Takes = SeenChange & { readonly takesBack: number };

const takes = (change: SeenChange): change is Takes => change.takesBack !== null;

/**
 * Whether changes show that a source went back to an earlier state. All that it takes back then was seen before one moment and taken back after
 * it, most of what had changed is, and it is of several kinds. `changes`: by their numbers, all of some days.
 */
export function restoreOf(changes: readonly SeenChange[]): Restore | null {
  const signs = changes.filter(takes);
  const every = Math.ceil(signs.length / MOST_LOOKED_AT);
  const found = signs.flatMap(({ number }, index) => (index % every === 0 ? (restoredAt(number, changes) ?? []) : []));
  const rowsOf = ({ back }: Restore) => [...back.values()].reduce((sum, rows) => sum + rows, 0);
  return found.reduce<Restore | null>((best, each) => (best && rowsOf(best) >= rowsOf(each) ? best : each), null);
}

/** Whether it went back just before this change was seen. */
function restoredAt(sign: number, changes: readonly SeenChange[]): Restore | null {
  const back = takenBackAt(sign, changes);
  if (back.size < FEWEST) return null;
  const steady = steadyLists(changes, back);
  const changed = new Set<string>();
  const found = new Set<string>();
  let first: SeenChange | null = null;
  let counted = 0;
  // From the sign backwards, as far as most of what had changed is as before.
  for (const change of changes.filter(({ number, resource }) => number < sign && steady.has(resource)).reverse()) {
    const row = rowOf(change);
    changed.add(row);
    if ((back.get(row)?.takesBack ?? Number.POSITIVE_INFINITY) > change.number) continue;
    found.add(row);
    if (found.size < MOST * changed.size) continue;
    first = change;
    counted = changed.size;
  }
  if (first === null) return null;
  const { number: firstNumber, seenAt: firstSeenAt } = first;
  const taken = [...back.values()].filter(each => each.takesBack >= firstNumber && steady.has(each.resource));
  const kinds = new Set(taken.map(({ resource, kind }) => `${resource} ${kind}`));
  if (taken.length < FEWEST || kinds.size < 2) return null;
  return {
    first: firstNumber,
    firstSeenAt,
    noticedAt: Math.min(...taken.map(({ seenAt }) => seenAt)),
    changed: counted,
    back: new Map([...groupBy(taken, ({ resource }) => resource)].map(([resource, rows]) => [resource, rows.length])),
  };
}

const rowOf = ({ resource, key }: SeenChange): string => `${resource} ${key}`;

/** By row, what was seen before the sign and taken back with it or later. */
function takenBackAt(sign: number, changes: readonly SeenChange[]): ReadonlyMap<string, Takes> {
  const back = new Map<string, Takes>();
  for (const change of changes)
    if (change.number >= sign && takes(change) && change.takesBack < sign && !back.has(rowOf(change)))
      back.set(rowOf(change), change);
  return back;
}

/** Lists in which few other changes take earlier ones back. */
function steadyLists(changes: readonly SeenChange[], back: ReadonlyMap<string, Takes>): ReadonlySet<string> {
  const isOther = (change: SeenChange) => takes(change) && back.get(rowOf(change)) !== change;
  const isSteady = (own: readonly SeenChange[]) =>
    own.filter(isOther).length <= Math.max(USUAL.few, USUAL.share * own.length);
  const lists = [...groupBy(changes, ({ resource }) => resource)];
  return new Set(lists.flatMap(([resource, own]) => (isSteady(own) ? resource : [])));
}
