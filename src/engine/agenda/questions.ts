import { HOUR, stampMs } from '../../clock.ts';
import type { MissingRow } from '../../warehouse/rows/missing-rows.ts';
import { partition, requestsForAll, watched } from '../coverage/list.ts';
import type { Entry } from '../slices/coverage-entry.ts';
import { sliceText } from '../slices/slice.ts';
import { changeRate, pooledPrior } from './change-rates.ts';
import { isDue, isFree, type PlanFacts, single } from './choice.ts';
import { confirm, confirmsFrom, countsAgain, lackingSlices, othersFirst } from './confirm.ts';
import { byItself } from './gather.ts';
import { ageOf, totalQuestions, windowsInDoubt } from './totals.ts';
import { type Asking, firstOf, scoreOf, type Unscored } from './worth.ts';

/** Something worth one or more requests. */
export interface Question extends Unscored {
  readonly score: number;
  /** Nothing that is older than the agenda allows waits for anything else. */
  readonly overdue: boolean;
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
  const prior = pooledPrior(list.entries.values(), now);
  const rateOf: RateOf = entry => changeRate(entry, prior);
  const all: Unscored[] = [
    ...sliceQuestions(facts, rateOf),
    ...watchedQuestions(facts, rateOf),
    ...totalQuestions(list, rateOf, facts.today, now),
    ...confirmQuestion(facts),
  ];
  const open = all.filter(({ choice }) => isFree(list, choice.slice));
  // Assigned, not copied: there are thousands, for each request anew.
  return open.map(each =>
    Object.assign(each, { score: weight * scoreOf(each), overdue: each.overdue === true || each.age > mostAge }),
  );
}

/** The question to ask first: what is overdue, the oldest first, then what brings most for its requests. */
export const best = <Q extends Question>(questions: readonly Q[]): Q | null => firstOf(questions, goesBefore) ?? null;

export const goesBefore = (a: Question, b: Question): boolean =>
  a.overdue === b.overdue ? (a.overdue ? a.age > b.age : a.score > b.score) : a.overdue;

type RateOf = (entry: Entry) => number;

const CONFIRMS = 'confirms which rows are gone';

/** The parts of the list that were read before. What was never read is left to the tick. */
function sliceQuestions({ list, wish, missing, now, monthsHold, mostAge }: AgendaFacts, rateOf: RateOf): Unscored[] {
  const { done } = wish.state;
  const lacking = lackingSlices(list, missing);
  const from = confirmsFrom(list, lacking);
  const parts = partition(list).filter(({ provenAt }) => provenAt !== null);
  // Before that moment, no reading confirms anything.
  const uncovered = new Set(
    parts.filter(entry => (from <= now && (entry.provenAt as number) < from) || countsAgain(entry, lacking, now)),
  );
  const confirming = new Set(othersFirst([...uncovered], lacking));
  const inDoubt = windowsInDoubt(list, parts);
  return parts.flatMap(entry => {
    const { slice, provenAt, readAt, dueReason } = entry;
    const dueSince = isDue(entry, now) ? entry.dueSince : null;
    const confirms = confirming.has(entry);
    // A reading that proved nothing is repeated no sooner than one that did.
    const sinceTried = hoursSince(Math.max(provenAt ?? 0, readAt ?? 0), now);
    // A total that agreed makes rows count as younger, but does not prove them.
    const overdue = sinceTried > mostAge;
    if (done.has(sliceText(slice)) || (monthsHold && dueSince === null)) return [];
    if (uncovered.has(entry) && !confirms && dueSince === null && !overdue) return [];
    const waits = (changes: number, since: number) => ({
      changes,
      hours: Math.min(hoursSince(since, now), sinceTried),
    });
    const waiting = sumUp([
      ...(dueSince === null ? [] : [waits(1 / (inDoubt.get(dueSince) ?? 1), dueSince)]),
      ...(confirms ? [waits(missing.length / confirming.size, from)] : []),
    ]);
    return {
      choice: byItself(list, entry, done),
      rate: rateOf(entry),
      age: Math.min(ageOf(entry, list, now), sinceTried),
      requests: Math.max(entry.requests, 1),
      ...(waiting ? { waiting } : {}),
      overdue,
      why:
        dueSince !== null ? (dueReason ?? 'something happened in it') : confirms ? CONFIRMS : 'rows of its age change',
    };
  });
}

/** Changes that wait for different times count as one wait of their mean. */
function sumUp(each: readonly { changes: number; hours: number }[]): Asking['waiting'] {
  const changes = each.reduce((sum, one) => sum + one.changes, 0);
  const total = each.reduce((sum, one) => sum + one.changes * one.hours, 0);
  return changes > 0 ? { changes, hours: total / changes } : undefined;
}

/** The newest end, and the values that the job watches. */
const watchedQuestions = ({ list, now }: AgendaFacts, rateOf: RateOf): Unscored[] =>
  watched(list).flatMap(entry =>
    entry.readAt === null
      ? []
      : {
          choice: single(entry.slice),
          rate: rateOf(entry),
          age: hoursSince(entry.readAt, now),
          requests: Math.max(entry.requests, 1),
          why: entry.slice.by === 'newest' ? 'new rows appear there' : 'these rows change most',
        },
  );

/** The missing row to ask for next. */
function confirmQuestion(facts: AgendaFacts): Unscored[] {
  const { list, missing, now, attempts } = facts;
  const choice = confirm(facts);
  if (choice === null) return [];
  const { slice, asks } = choice;
  const isOfRow = typeof asks === 'object';
  // What is asked beside the rows themselves is asked for the oldest.
  const row = (missing.find(({ key }) => isOfRow && key === asks.row) ?? missing[0]) as MissingRow;
  const tried = attempts?.get(isOfRow ? asks.row : row.key);
  const hours = hoursSince(Math.max(stampMs(row.since), tried?.at ?? 0), now);
  const requests = isOfRow
    ? 1
    : asks === 'all'
      ? requestsForAll(list)
      : Math.max(list.entries.get(sliceText(slice))?.requests ?? 1, 1);
  // What was in vain before is half as likely to settle it now.
  const changes = isOfRow ? 0.5 ** (tried?.times ?? 0) : missing.length;
  const why = isOfRow ? `tells whether row ${row.key} is gone` : CONFIRMS;
  return [{ choice, rate: 0, age: 0, requests, waiting: { changes, hours }, why }];
}

const hoursSince = (at: number, now: number): number => Math.max(now - at, 0) / HOUR;
