import { type Job, mayBeAbsent } from '../job.ts';
import type { SourceProfile } from '../profile/source-profile.ts';
import type { Strategy } from '../profile/strategy.ts';
import { type Entry, NOT_OFFERED } from '../slices/coverage-entry.ts';
import { wholeTime } from '../slices/date-windows.ts';
import { overlap, type Slice, sliceText } from '../slices/slice.ts';

/** One list of a source as decisions see it: its job, what it was observed to do, and what is known of its slices. */
export interface List {
  readonly job: Job;
  readonly profile: SourceProfile;
  readonly strategy: Strategy;
  /** Coverage by the text of the slice. */
  readonly entries: ReadonlyMap<string, Entry>;
  /** Rows that the source counted in the whole list when last asked; null where it does not count, undefined before. */
  readonly total: number | null | undefined;
  /** As of when it counted no more rows than are stored and not missing (epoch ms), as far as known: then no missing row is there. */
  readonly accountedAt?: number | undefined;
  /** How far an answer may lag behind the source, in milliseconds. Default: not at all. */
  readonly lagMs?: number;
}

const neverRead = (slice: Slice): Entry => ({
  slice,
  provenAt: null,
  readAt: null,
  requests: 1,
  rows: null,
  changed: 0,
  hoursWatched: 0,
  dueSince: null,
  dueReason: null,
});

/** The slices that together are the whole list; one never read stands for all of it at first. */
export function partition({ strategy, entries }: List): Entry[] {
  const by = strategy.partition;
  const parts = [...entries.values()].filter(entry => entry.slice.by === by);
  if (parts.length > 0) return parts;
  return [neverRead(by === 'date' ? wholeTime : by === 'id' ? { by, from: null, to: null } : { by })];
}

/** As of when the whole list is proven (epoch ms); null while parts of it were never read. */
export const oldestProof = (list: List): number | null => oldestOf(partition(list));

/** The same for some of its parts; null for none. */
export function oldestOf(parts: readonly Pick<Entry, 'provenAt'>[]): number | null {
  const proofs = parts.map(({ provenAt }) => provenAt);
  return proofs.length === 0 || proofs.includes(null) ? null : Math.min(...(proofs as number[]));
}

/** Rows that the last readings of all slices showed together. */
export const rowsProven = (list: List): number => partition(list).reduce((sum, { rows }) => sum + (rows ?? 0), 0);

/** The slices read at every sync and slot, with what is known of them. */
export const watched = ({ strategy, entries }: List): Entry[] =>
  strategy.watched.map(slice => entries.get(sliceText(slice)) ?? neverRead(slice));

/** Where the list shows new rows. */
export const newestEnd = (list: List): Entry =>
  partition(list).find(({ slice }) => slice.by === 'id' && slice.to === null) ??
  list.entries.get(sliceText({ by: 'newest' })) ??
  neverRead({ by: 'newest' });

/** When as much of the unfiltered list as a cover needs was last read (epoch ms); 0 before. */
export function unfilteredReadAt(list: List): number {
  const { provenAt, readAt } = newestEnd(list);
  return (unfilteredFor(list) === 'all' ? provenAt : readAt) ?? 0;
}

/** Rows a page holds: as observed, `unknown` before. */
export const pageSize = ({ profile }: Pick<List, 'profile'>, unknown = 100): number => profile.pageSize ?? unknown;

/** Requests that a reading of so many rows takes. */
export const requestsFor = (list: List, rows: number): number => Math.max(Math.ceil(rows / pageSize(list)), 1);

/** Requests that a reading of all of its rows takes, at least. */
export const requestsForAll = (list: List): number => requestsFor(list, rowsProven(list));

/** The list is there, or must be: what was read once does not cease to be offered. */
export const isOffered = (list: List): boolean =>
  !mayBeAbsent(list.job) || partition(list).some(entry => entry.provenAt !== null);

/** No reading has shown a row. */
export const holdsNothing = (list: List): boolean => partition(list).every(({ rows }) => rows === null || rows === 0);

/** The source answered for the list since this moment (epoch ms). */
export const wasAnswered = ({ entries }: List, since: number): boolean =>
  [...entries.values()].some(({ readAt, dueReason }) => (readAt ?? -1) >= since && dueReason !== NOT_OFFERED);

/** When the source was last asked for a list that it does not offer (epoch ms); null where it does, or was never asked. */
export function foundAbsentAt(list: List): number | null {
  const [part] = partition(list);
  return part?.dueReason === NOT_OFFERED ? part.readAt : null;
}

/** The coverage of a list that the source was found at `now` not to offer. */
export const absentEntries = (list: List, now: number): Entry[] =>
  partition(list).map(entry => ({ ...entry, readAt: now, dueReason: NOT_OFFERED }));

/** Rows of the slice are stored, as far as its readings tell; of what was never read by itself, they may be. */
export function holdsRows(list: List, slice: Slice): boolean {
  const own = list.entries.get(sliceText(slice));
  if (own) return own.rows !== 0;
  const parts = partition(list).filter(entry => entry.slice.by === slice.by && overlap(entry.slice, slice));
  return parts.length === 0 || parts.some(entry => entry.rows !== 0);
}

/**
 * What the unfiltered list must show before a cover of windows confirms, since it may show a row that lies in none of them: its newest end, or all
 * of it where nothing is counted and it is not known to be cut off. Null where that is left to the count.
 */
export function unfilteredFor({ strategy, profile, total }: List): 'newest end' | 'all' | null {
  if (strategy.partition !== 'date') return null;
  if (strategy.oneAnswerShowsAll) return 'newest end';
  const isCut = profile.oneAnswer === 'cut' || profile.end?.verdict === 'cut';
  if (total === null) return isCut ? 'newest end' : 'all';
  return strategy.membership === 'window' ? 'newest end' : null;
}

/**
 * When the unfiltered list, which shows what windows may leave out, was read (epoch ms); null where they show all of it. An answer that lags behind
 * shows whatever was there for long.
 */
export const unfilteredSince = (list: List): number | null =>
  unfilteredFor(list) === null ? null : unfilteredReadAt(list);

/**
 * As of when the readings of all slices show the source (epoch ms), however far their answers lag behind it: what was missing before that is
 * covered. A row that moved from one slice to another shortly before may be in none of them. Null while a part was never read.
 */
export function coveredSince(list: List): number | null {
  const oldest = oldestProof(list);
  if (oldest === null) return null;
  return Math.min(oldest, unfilteredSince(list) ?? oldest) - lagOf(list);
}

/** How far the readings of all slices may lag behind one another: a single answer shows the whole list as of one moment. */
export function lagOf(list: List): number {
  const parts = partition(list);
  return parts.length === 1 && parts[0]?.requests === 1 ? 0 : (list.lagMs ?? 0);
}
