import {
  type Choice,
  isChoice,
  isPause,
  type ListInUse,
  type Next,
  NO_PROGRESS,
  type TaskProgress,
  type Wish,
} from '../../src/engine/agenda/choice.ts';
import { isKnownAbsent, openTargets, plan } from '../../src/engine/agenda/plan.ts';
import { type IdSlice, parseSlice, sliceText } from '../../src/engine/slices/slice.ts';
import { firstPages, valuesLeftOut, withoutAllowance, withoutOrder } from './changed-rules.ts';
import { countedFirst, listOf, type RecordedPlan } from './recorded.ts';

/** What was decided, and what the pure function decides now from the same facts; equal where behaviour is. */
export function replayPlan(recorded: RecordedPlan): { was: unknown; is: unknown; chosen: string | null } {
  const { list, task, now, today, affordable, missing } = recorded;
  const inUse: ListInUse = { ...listOf(list), reading: new Set(list.reading.map(parseSlice)) };
  const { settled, intervals, failure, targets, allowance, counted, ...rest } = task;
  const asked = settled.filter(each => /^confirm (?!cover$)/.test(each)).map(each => each.slice('confirm '.length));
  const state: TaskProgress = {
    ...NO_PROGRESS,
    ...{ readsAll: affordable, counted: countedFirst(counted) },
    // The recorder's ticks read all values that a job watches.
    allowance: task.kind === 'slot' ? Number.POSITIVE_INFINITY : allowance,
    targets: targets.map(parseSlice),
    failure: failure === null ? null : { kind: failure },
    done: new Set([...settled.filter(each => !/^confirm |^recount$/.test(each)), ...valuesLeftOut(recorded)]),
    asked: new Set(asked),
    coverAsked: new Set(settled.filter(each => each === 'confirm cover')),
    intervals: intervals.map(parseSlice) as IdSlice[],
  };
  const wish: Wish = { ...rest, state };
  const absent = task.absent || isKnownAbsent(inUse, wish, now);
  const next = plan({ list: inUse, wish, absent, missing: missing ?? [], now, today });
  const left = wish.kind === 'hint' ? openTargets(inUse, wish).slice(typeof next === 'string' ? 0 : 1) : state.targets;
  const chosen = isChoice(next) ? sliceText(next.slice) : null;
  const wasChosen = typeof recorded.next === 'object' ? recorded.next.slice : null;
  return {
    was: [
      withoutOrder(recorded, firstPages(recorded, withoutAllowance(recorded, recorded.next)), wasChosen),
      recorded.settled,
      recorded.targets,
      recorded.absent,
    ],
    is: [
      withoutOrder(recorded, withoutAllowance(recorded, shown(next)), chosen),
      settledBy(next),
      left.map(sliceText),
      absent,
    ],
    chosen,
  };
}

export function shown(next: Next) {
  if (typeof next === 'string' || isPause(next)) return next;
  const { slice, answers, gathered, metered: counted } = next;
  return { slice: sliceText(slice), answers: Number.isFinite(answers) ? answers : 'inf', gathered, counted };
}

function settledBy(next: Next): string[] {
  const asks: Choice['asks'] = typeof next === 'string' || isPause(next) ? undefined : next.asks;
  if (typeof asks === 'object') return [`confirm ${asks.row}`];
  return asks === 'cover' ? ['confirm cover'] : [];
}
