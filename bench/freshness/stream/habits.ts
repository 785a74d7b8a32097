import { HOUR } from '../../../src/clock.ts';
import { KINDS, type Kind } from '../parameters.ts';
import type { Habits } from './flows.ts';

/** A period in which the source changes otherwise than usual. */
export interface Phase extends Habits {
  readonly name: string;
  /** From the start of the measured days. */
  readonly fromMs: number;
  readonly toMs: number;
}

const all = (factor: number) => Object.fromEntries(KINDS.map(kind => [kind, factor])) as Record<Kind, number>;

/** Four changes of habits, each with a usual day after it. `day`: milliseconds of one of these days. */
export const habits = (day: number): readonly Phase[] => [
  { name: 'usual', fromMs: 0, toMs: day },
  { name: 'month-end', fromMs: day, toMs: 2 * day, factors: { new: 5, paid: 3, edited: 3, deleted: 2 } },
  { name: 'after month-end', fromMs: 2 * day, toMs: 3 * day },
  { name: 'quiet weekend', fromMs: 3 * day, toMs: 5 * day, factors: all(0.05) },
  { name: 'Monday', fromMs: 5 * day, toMs: 6 * day },
  {
    name: 'import of old rows',
    fromMs: 6 * day,
    toMs: 6 * day + HOUR,
    extra: [{ list: 'transactions', kind: 'back-dated', perHour: 5000, places: { fromDays: 180, toDays: 540 } }],
  },
  { name: 'after import', fromMs: 6 * day + HOUR, toMs: 7 * day },
  {
    name: 'mass edit',
    fromMs: 7 * day,
    toMs: 7 * day + HOUR,
    extra: [{ list: 'invoices', kind: 'edited', perHour: 1000, places: { fromDays: 90, toDays: 180 } }],
  },
  { name: 'after mass edit', fromMs: 7 * day + HOUR, toMs: 8 * day },
];

/** The phase of a moment, if it has one, and when the next one begins or it ends. Times are in milliseconds since the epoch. */
export function phaseAt(
  phases: readonly Phase[],
  phasesFromMs: number,
  ms: number,
): { readonly phase: Phase | undefined; readonly untilMs: number } {
  const at = ms - phasesFromMs;
  const bounds = phases.flatMap(({ fromMs, toMs }) => [fromMs, toMs]).filter(bound => bound > at);
  return {
    phase: phases.find(({ fromMs, toMs }) => at >= fromMs && at < toMs),
    untilMs: phasesFromMs + Math.min(...bounds, Number.POSITIVE_INFINITY),
  };
}
