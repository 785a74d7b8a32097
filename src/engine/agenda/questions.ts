import { HOUR, stampMs } from '../../clock.ts';
import { partition, watched } from '../coverage/list.ts';
import type { Entry } from '../slices/coverage-entry.ts';
import { overlap, type Slice, sliceText } from '../slices/slice.ts';
import { changeRate, pooledPrior } from './change-rates.ts';
import { type Choice, isChoice, MOST_PAGES, type PlanFacts, single } from './choice.ts';
import { confirm, confirmsFrom, countsAgain, hasLacked, lackingSlices } from './confirm.ts';
import { measureLength } from './gather.ts';
import { ageOf, totalQuestions, windowsInDoubt } from './totals.ts';
import { type Asking, scoreOf } from './worth.ts';

/** Something worth one or more requests. */
export interface Question extends Asking {
  readonly choice: Choice;
  readonly score: number;
  /** Nothing that is older than the agenda allows waits for anything else. */
  readonly overdue: boolean;
  readonly why: string;
}

export interface AgendaFacts extends PlanFacts {
  /** What a change of this list is worth, compared with those of others. */
  readonly weight: number;
  /** The most hours that a slice may go without being read. */
  readonly mostAge: number;
  /** How often missing rows were asked for in vain, by key. */
  readonly attempts?: ReadonlyMap<string, Attempts>;
}

export interface Attempts {
  readonly times: number;
  /** When it was last tried (epoch ms). */
  readonly at: number;
}

/** Everything that is worth asking of a list now, in no order. */
export function questionsOf(facts: AgendaFacts): Question[] {
  const { list, wish, weight, mostAge, now, absent } = facts;
  // Beyond the loss limit only deletions stop.
  if (absent || weight === 0 || (wish.state.failure && wish.state.failure.kind !== 'fuse')) return [];
  const rateOf = ratesOf(facts);
  const totals = totalQuestions(list, rateOf, facts.today, now).map(({ slice, ...asking }) => ({
    ...asking,
    choice: single(slice, false),
    why: 'tells whether any row of the month changed',
  }));
  const all: Unscored[] = [
    ...sliceQuestions(facts, rateOf),
    ...watchedQuestions(facts, rateOf),
    ...totals,
    ...confirmQuestion(facts),
  ];
  const reading = [...list.reading];
  const open =
    reading.length > 0 ? all.filter(({ choice }) => !reading.some(slice => overlap(slice, choice.slice))) : all;
  // Assigned, not copied: there are thousands, for each request anew.
  return open.map(each =>
    Object.assign(each, { score: weight * scoreOf(each), overdue: each.overdue === true || each.age > mostAge }),
  );
}

/** The question to ask first: what is overdue, the oldest first, then what brings most for its requests. */
export function best<Q extends Question>(questions: readonly Q[]): Q | null {
  let first: Q | null = null;
  for (const each of questions) if (first === null || goesBefore(each, first)) first = each;
  return first;
}

export const goesBefore = (a: Question, b: Question): boolean =>
  a.overdue === b.overdue ? (a.overdue ? a.age > b.age : a.score > b.score) : a.overdue;

export type RateOf = (entry: Entry) => number;

/** Rows an hour that change, by what readings of the list have shown. */
export function ratesOf({ list, now }: Pick<PlanFacts, 'list' | 'now'>): RateOf {
  const prior = pooledPrior(list.entries.values(), now);
  return entry => changeRate(entry, prior);
}

type Unscored = Omit<Question, 'score' | 'overdue'> & { readonly overdue?: boolean };

/** The parts of the list that were read before. What was never read is left to the tick. */
function sliceQuestions(facts: AgendaFacts, rateOf: RateOf): Unscored[] {
  const { list, wish, missing, now, monthsHold, mostAge } = facts;
  const lacking = lackingSlices(list, missing);
  const from = confirmsFrom(list, lacking);
  const parts = partition(list).filter(({ provenAt }) => provenAt !== null);
  // Before that moment, no reading confirms anything.
  const uncovered = new Set(
    parts.filter(entry => (from <= now && (entry.provenAt as number) < from) || countsAgain(entry, lacking, now)),
  );
  // What lacked rows is read after all others: they may show those rows.
  const others = new Set([...uncovered].filter(entry => !hasLacked(entry, lacking)));
  const confirming = others.size > 0 ? others : uncovered;
  const waits = hoursSince(from, now);
  const inDoubt = windowsInDoubt(list, parts);
  return parts.flatMap(entry => {
    const { slice, dueSince, dueReason, provenAt } = entry;
    const isDue = dueSince !== null && dueSince > (provenAt ?? 0) && dueSince <= now;
    const confirms = confirming.has(entry);
    // A reading that proved nothing is repeated no sooner than one that did.
    const triedAt = Math.max(provenAt ?? 0, entry.readAt ?? 0);
    const sinceTried = hoursSince(triedAt, now);
    // A total that agreed makes rows count as younger, but does not prove them.
    const overdue = sinceTried > mostAge;
    if (wish.state.done.has(sliceText(slice)) || (monthsHold && !isDue)) return [];
    if (uncovered.has(entry) && !confirms && !isDue && !overdue) return [];
    const due = isDue
      ? [{ changes: 1 / (inDoubt.get(dueSince) ?? 1), hours: Math.min(hoursSince(dueSince, now), sinceTried) }]
      : [];
    const lacks = confirms ? [{ changes: missing.length / confirming.size, hours: Math.min(waits, sinceTried) }] : [];
    const waiting = sumUp([...due, ...lacks]);
    return {
      choice: measureLength(list, entry, { counted: false, done: wish.state.done }) ?? choiceOf(slice),
      rate: rateOf(entry),
      age: Math.min(ageOf(entry, list, now), sinceTried),
      requests: Math.max(entry.requests, 1),
      ...(waiting ? { waiting } : {}),
      overdue,
      why: isDue
        ? (dueReason ?? 'something happened in it')
        : confirms
          ? 'confirms which rows are gone'
          : 'rows of its age change',
    };
  });
}

/** Changes that wait for different times count as one wait of their mean. */
function sumUp(each: readonly { changes: number; hours: number }[]): Asking['waiting'] {
  const changes = each.reduce((sum, one) => sum + one.changes, 0);
  const total = each.reduce((sum, one) => sum + one.changes * one.hours, 0);
  return changes > 0 ? { changes, hours: total / changes } : undefined;
}

/** A whole list is read to its end, however many answers that takes. */
const choiceOf = (slice: Slice): Choice => ({
  ...single(slice, false),
  answers: slice.by === 'id' ? 1 : slice.by === 'whole' ? Number.POSITIVE_INFINITY : MOST_PAGES,
});

/** The newest end, and the values that the job watches. */
function watchedQuestions({ list, now }: AgendaFacts, rateOf: RateOf): Unscored[] {
  return watched(list).flatMap(entry => {
    if (entry.readAt === null) return [];
    const isNewest = entry.slice.by === 'newest';
    return {
      choice: { ...single(entry.slice, false), answers: isNewest ? MOST_PAGES : Number.POSITIVE_INFINITY },
      rate: rateOf(entry),
      age: hoursSince(entry.readAt, now),
      requests: Math.max(entry.requests, 1),
      why: isNewest ? 'new rows appear there' : 'these rows change most',
    };
  });
}

/** The missing row to ask for next. */
function confirmQuestion(facts: AgendaFacts): Unscored[] {
  const { list, missing, now, attempts } = facts;
  if (missing.length === 0) return [];
  const choice = confirm(facts, false);
  if (!isChoice(choice)) return [];
  const { asks } = choice;
  const row = typeof asks === 'object' ? missing.find(({ key }) => key === asks.row) : missing[0];
  const tried = row && attempts?.get(row.key);
  const hours = row ? hoursSince(Math.max(stampMs(row.since), tried?.at ?? 0), now) : 0;
  const requests = typeof asks === 'object' ? 1 : Math.max(list.entries.get(sliceText(choice.slice))?.requests ?? 1, 1);
  // What was in vain before is half as likely to settle it now.
  const changes = typeof asks === 'object' ? 0.5 ** (tried?.times ?? 0) : missing.length;
  const why = typeof asks === 'object' ? `tells whether row ${asks.row} is gone` : 'confirms which rows are gone';
  return [{ choice, rate: 0, age: 0, requests, waiting: { changes, hours }, why }];
}

const hoursSince = (at: number, now: number): number => Math.max(now - at, 0) / HOUR;
