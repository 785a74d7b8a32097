import { HOUR } from '../../clock.ts';
import { type List, partition } from '../coverage/list.ts';
import { dayIn } from '../slices/date-windows.ts';
import { type ListInUse, NO_PROGRESS, type Wish } from './choice.ts';
import { partsOf } from './parts.ts';
import { monthsHold, type NamedList } from './past-months.ts';
import type { AgendaFacts } from './questions.ts';
import { type Need, weighTargets } from './target-weights.ts';

/** What the agenda of a source depends on beside its lists. */
export interface AgendaRules {
  /** Requests per window of `windowMs`. */
  readonly limit: number;
  readonly windowMs: number;
  readonly timeZone: string;
  /** Weight of each list. Default: 1. 0 takes it off the agenda. */
  readonly weights?: Readonly<Record<string, number>>;
  /** The mean delay, in hours, that a list should have. It takes the place of the list's weight. */
  readonly targets?: Readonly<Record<string, number>>;
  /** No slice stays unread for longer than so many sweeps, each the time that it takes to read everything once. Default: 5. */
  readonly mostSweeps?: number;
}

/** A list on the agenda. */
export interface AgendaList extends Pick<AgendaFacts, 'wish' | 'missing' | 'absent' | 'attempts'> {
  readonly list: NamedList & ListInUse;
}

export const MOST_SWEEPS = 5;

/** What decides about the questions of each list. `all`: the lists of the source, those that are not on the agenda included. */
export function factsOf<L extends AgendaList>(
  rules: AgendaRules,
  lists: readonly L[],
  all: readonly NamedList[],
  now: number,
): (AgendaFacts & L)[] {
  const { weights = {}, mostSweeps = MOST_SWEEPS } = rules;
  const mostAge =
    mostSweeps *
    sweepHours(
      rules,
      lists.flatMap(({ list }) => (weights[list.name] === 0 ? [] : [list])),
    );
  const facts = lists.map(each => ({
    ...each,
    now,
    today: dayIn(now, rules.timeZone),
    monthsHold: monthsHold(each.list, all, now),
    weight: weights[each.list.name] ?? 1,
    mostAge,
  }));
  if (Object.keys(rules.targets ?? {}).length === 0) return facts;
  const weighed = weigh(rules, facts).weights;
  return facts.map(each => ({ ...each, weight: weighed.get(each.list.name) ?? each.weight }));
}

/** What the targets need, as far as their lists were read. */
export const needsOf = (rules: AgendaRules, facts: readonly WeighedFacts[]): Need[] => weigh(rules, facts).needs;

type WeighedFacts = AgendaFacts & Pick<AgendaList, 'list'>;

function weigh(rules: AgendaRules, facts: readonly WeighedFacts[]) {
  const { weights = {}, targets = {} } = rules;
  const lists = facts.map(each => {
    const { name } = each.list;
    return { name, parts: partsOf(each), weight: weights[name] ?? 1, target: targets[name] ?? null };
  });
  return weighTargets(lists, hourlyLimit(rules));
}

export const hourlyLimit = ({ limit, windowMs }: Pick<AgendaRules, 'limit' | 'windowMs'>): number =>
  (limit * HOUR) / windowMs;

/** Hours that it takes to read everything once, if the whole limit is spent on it. */
function sweepHours(rules: AgendaRules, lists: readonly List[]): number {
  const entries = lists.flatMap(list => partition(list));
  const requests = entries.reduce((sum, entry) => sum + Math.max(entry.requests, 1), 0);
  return requests / hourlyLimit(rules);
}

/** The wish of an agenda that asks nothing itself, but shows what would be asked. */
export const shownWish = (now: number): Wish => ({
  kind: 'agenda',
  since: now,
  from: null,
  to: null,
  reportOnly: false,
  state: NO_PROGRESS,
});
