import type { Day } from '../slices/date-windows.ts';
import type { DateSlice } from '../slices/slice.ts';
import type { Edge, Observation } from './observation.ts';

const dayAt = (edge: Edge, { from, to }: DateSlice): Day | null => (edge === 'date from' ? from : to);

/** One edge of a window: which, and its day. */
export const edgeText = (edge: Edge, window: DateSlice): string => `${edge} ${dayAt(edge, window) ?? ''}`;

type Doubt = Observation & { readonly trait: Edge };

/**
 * Edges asked for by just their day (`narrow`) whose stored rows the window lacked. Of the first day it shows all rows or none; of the last, where
 * the source keeps times of day, it may show some.
 */
export function doubtfulEdges(
  window: DateSlice,
  narrow: readonly Edge[],
  days: { readonly lacked: readonly Day[]; readonly shown: readonly Day[] },
): Doubt[] {
  return narrow.flatMap((trait): Doubt[] => {
    const day = dayAt(trait, window);
    if (day === null || !days.lacked.includes(day)) return [];
    if (trait === 'date from' && days.shown.includes(day)) return [];
    const evidence = `date ${window.from ?? ''}..${window.to ?? ''} lacks rows of that day`;
    return [{ trait, value: 'in doubt', evidence }];
  });
}
