import { DAY } from '../../clock.ts';

/** Names can be data, as in `{"2026-01-15": ..}`: what is remembered of a list must not grow with it. */
export const MOST_NAMES = 100;
const LONGEST_NAME = 100;
/** What fewer rows no longer carry may well have been emptied by people. */
const FEWEST_EMPTIED = 5;

/** Which fields a list carries beside the declared ones, and which of those it carries no more. Times are epoch milliseconds. */
export interface FieldDrift {
  /** Unknown fields are no news until every part of the list was read since then; null: it was. */
  readonly learningSince: number | null;
  /** Fields that the job does not declare, and when each appeared; null: it was there from the start. `items.discount`: of child rows. */
  readonly unknown: ReadonlyMap<string, number | null>;
  /** Declared fields that no row carried any more. `isBack`: one does again. */
  readonly vanished: ReadonlyMap<string, Vanished>;
}

interface Vanished {
  readonly since: number;
  readonly isBack: boolean;
}

/** What the answers of one commit show of the fields. */
export interface ShownFields {
  readonly unknown: Iterable<string>;
  /** Fields that the list used to carry, and that no row of the answers carries. */
  readonly omitted: ReadonlySet<string>;
  /** By field: rows that hold something there, and that the answers show without it. */
  readonly emptied: ReadonlyMap<string, number>;
}

export interface FieldNews {
  readonly field: string;
  readonly kind: 'new' | 'vanished';
  /** Epoch milliseconds. */
  readonly since: number;
}

/**
 * The drift once these answers, granted at `at`, are stored, and what of it is news. `proofs`: as of when each part of the list is
 * proven, null where it was never read.
 */
export function observeDrift(
  { drift, fields }: { readonly drift: FieldDrift | null; readonly fields: ReadonlySet<string> },
  shown: ShownFields,
  { at, proofs }: { readonly at: number; readonly proofs: readonly (number | null)[] },
): { drift: FieldDrift; news: FieldNews[] } {
  const since = drift === null ? beginning(proofs, at) : drift.learningSince;
  const isLearnt = since === null || proofs.every(proof => proof !== null && proof >= since);
  const unknown = withUnknown(drift?.unknown, shown.unknown, field => (isLearnt && !fields.has(field) ? at : null));
  const vanished = withVanished(drift?.vanished, shown, at);
  return {
    drift: { learningSince: isLearnt ? null : since, unknown, vanished },
    news: [
      ...[...unknown].flatMap(([field, appeared]) =>
        appeared !== null && !drift?.unknown.has(field) ? [{ field, kind: 'new' as const, since: appeared }] : [],
      ),
      ...[...vanished].flatMap(([field, each]) =>
        each.since !== drift?.vanished.get(field)?.since
          ? [{ field, kind: 'vanished' as const, since: each.since }]
          : [],
      ),
    ],
  };
}

/** In a first load everything is yet to be read, in whatever order its requests were granted. */
const beginning = (proofs: readonly (number | null)[], at: number): number =>
  proofs.every(proof => proof === null) ? 0 : at;

function withUnknown(
  known: FieldDrift['unknown'] = new Map(),
  shown: Iterable<string>,
  appeared: (field: string) => number | null,
): FieldDrift['unknown'] {
  const unknown = new Map(known);
  for (const name of [...shown].sort()) {
    // Some names are whole texts.
    const field = name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME).toWellFormed()}…` : name;
    if (unknown.size < MOST_NAMES && !unknown.has(field)) unknown.set(field, appeared(field));
  }
  return unknown;
}

/** The list used to carry it, and no longer does. */
export const hasVanished = ({ drift }: { readonly drift: FieldDrift | null }, field: string): boolean =>
  drift?.vanished.get(field)?.isBack === false;

/** A field that is left out where it is empty has not vanished: only rows that had it before tell. */
function withVanished(
  known: FieldDrift['vanished'] = new Map(),
  { omitted, emptied }: ShownFields,
  at: number,
): FieldDrift['vanished'] {
  const vanished = new Map(known);
  for (const [field, each] of known)
    if (!each.isBack && !omitted.has(field)) vanished.set(field, { ...each, isBack: true });
  for (const field of omitted) {
    const before = known.get(field);
    if ((emptied.get(field) ?? 0) < FEWEST_EMPTIED || before?.isBack === false) continue;
    // One that comes and goes is news once a day.
    const since = before !== undefined && at - before.since < DAY ? before.since : at;
    vanished.set(field, { since, isBack: false });
  }
  return vanished;
}

/** All that is news of a list, the newest first. */
export const allNews = ({ unknown, vanished }: FieldDrift): FieldNews[] =>
  [
    ...[...unknown].flatMap(([field, since]) => (since === null ? [] : [{ field, kind: 'new' as const, since }])),
    ...[...vanished].flatMap(([field, { since, isBack }]) =>
      isBack ? [] : [{ field, kind: 'vanished' as const, since }],
    ),
  ].sort((a, b) => b.since - a.since);

/** As `sluice.traits` stores it. */
export const driftText = ({ learningSince, unknown, vanished }: FieldDrift): string =>
  JSON.stringify({
    learningSince: stampOf(learningSince),
    unknown: Object.fromEntries([...unknown].map(([field, since]) => [field, stampOf(since)])),
    vanished: Object.fromEntries(
      [...vanished].map(([field, { since, isBack }]) => [field, { since: stampOf(since), isBack }]),
    ),
  });

const stampOf = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());

export function parseDrift(text: string): FieldDrift {
  const { learningSince, unknown, vanished } = JSON.parse(text) as {
    learningSince: string | null;
    unknown: Record<string, string | null>;
    vanished: Record<string, { since: string; isBack: boolean }>;
  };
  const atOf = (stamp: string | null) => (stamp === null ? null : Date.parse(stamp));
  return {
    learningSince: atOf(learningSince),
    unknown: new Map(Object.entries(unknown).map(([field, since]) => [field, atOf(since)])),
    vanished: new Map(
      Object.entries(vanished).map(([field, { since, isBack }]) => [field, { since: Date.parse(since), isBack }]),
    ),
  };
}
