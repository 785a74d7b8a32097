import { byList, LISTS, type List } from './parameters.ts';
import { NEWEST, OLDEST, type Question, type Shown } from './policy.ts';
import type { Key } from './stream/rows.ts';
import type { Change } from './stream/stream.ts';

/** A change, and when the copy first showed it; null if it did not until the end. */
export interface Outcome {
  readonly change: Change;
  readonly seenAt: number | null;
}

export interface Judge {
  happened(change: Change): void;
  /** The copy holds this row as it is at the source since its change `number`; default: as it is now. */
  shown(list: List, id: number, at: number, number?: number): void;
  /** The copy no longer holds this row. */
  gone(list: List, id: number, at: number): void;
  /** A reading showed all rows of a list from `from` to `to` (not included). */
  read(
    list: List,
    range: { readonly from: Key; readonly to: Key },
    rows: readonly Pick<Shown, 'id'>[],
    at: number,
  ): void;
  /** Changes that a copy has yet to show. */
  readonly pending: number;
  /** Changes in order of time. Those of a row that was deleted before they were shown are left out: no copy can show them. */
  outcomes(): Outcome[];
}

interface Deletion {
  readonly change: Change;
  lacks: number;
}

/** `lacks`: see `Policy`. Only changes of the measured time are judged; a later deletion settles that nobody can see the earlier ones. */
export function createJudge(
  lacks: Readonly<Record<List, number>>,
  measured = { measuredFromMs: Number.NEGATIVE_INFINITY, measuredToMs: Number.POSITIVE_INFINITY },
): Judge {
  const isMeasured = ({ at }: Change) => at >= measured.measuredFromMs && at < measured.measuredToMs;
  const settled: Outcome[] = [];
  const changed = byList(() => new Map<number, Change[]>());
  const deleted = byList(() => new Map<number, Deletion>());

  const shown = (list: List, id: number, at: number, number = Number.POSITIVE_INFINITY) => {
    const changes = changed[list].get(id);
    if (!changes) return;
    const later = changes.filter(change => change.number > number);
    if (later.length === 0) changed[list].delete(id);
    else changed[list].set(id, later);
    for (const change of changes) if (change.number <= number) settled.push({ change, seenAt: at });
  };
  const gone = (list: List, id: number, at: number) => {
    const deletion = deleted[list].get(id);
    if (!deletion) return;
    deleted[list].delete(id);
    settled.push({ change: deletion.change, seenAt: at });
  };
  return {
    happened(change) {
      const { list, id, kind } = change;
      const changes = changed[list].get(id) ?? [];
      if (kind === 'deleted') changed[list].delete(id);
      if (!isMeasured(change)) return;
      if (kind !== 'deleted') {
        changed[list].set(id, [...changes, change]);
        return;
      }
      const wasNeverShown = changes.some(each => each.kind === 'new' || each.kind === 'back-dated');
      if (!wasNeverShown) deleted[list].set(id, { change, lacks: 0 });
    },
    shown,
    gone,
    read(list, range, rows, at) {
      for (const { id } of rows) shown(list, id, at);
      for (const [id, deletion] of deleted[list]) {
        const { place } = deletion.change;
        if (place >= range.from && place < range.to && ++deletion.lacks >= lacks[list]) gone(list, id, at);
      }
    },
    get pending() {
      return LISTS.reduce((sum, list) => sum + changed[list].size + deleted[list].size, 0);
    },
    outcomes() {
      const changes = LISTS.flatMap(list => [
        ...[...changed[list].values()].flat(),
        ...[...deleted[list].values()].map(({ change }) => change),
      ]);
      const unseen = changes.map(change => ({ change, seenAt: null }));
      return [...settled, ...unseen].sort((a, b) => a.change.number - b.change.number);
    },
  };
}

/** What a page covers of its question's range. */
export const coveredBy = ({ from, to }: Question, next: Key | null): { from: Key; to: Key } => ({
  from: Math.max(from, OLDEST),
  to: next ?? Math.min(to, NEWEST),
});
