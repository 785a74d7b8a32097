import type { Day } from '../slices/date-windows.ts';
import type { DateSlice } from '../slices/slice.ts';
import type { Edge, Observation } from './observation.ts';

/** Edges asked for by just their day (`narrow`) whose stored rows the window lacked, while it showed none of that day. */
export function doubtfulEdges(
  window: DateSlice,
  narrow: readonly Edge[],
  days: { readonly lacked: readonly Day[]; readonly shown: readonly Day[] },
): Observation[] {
  return narrow.flatMap((trait): Observation[] => {
    const day = trait === 'date from' ? window.from : window.to;
    if (day === null || !days.lacked.includes(day) || days.shown.includes(day)) return [];
    const evidence = `date ${window.from ?? ''}..${window.to ?? ''} lacks rows of that day`;
    return [{ trait, value: 'in doubt', evidence }];
  });
}
