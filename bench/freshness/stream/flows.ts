import type { Counts } from '../../../sandbox/data/data.ts';
import { type Kind, LISTS, type List, rowsPerDay, type StreamParameters } from '../parameters.ts';
import type { Places } from './places.ts';

/** Changes of one kind on one list: how many an hour, and where. */
export interface Flow {
  readonly list: List;
  readonly kind: Kind;
  readonly perHour: number;
  readonly places: Places;
}

/** How a source changes otherwise than usual. */
export interface Habits {
  readonly factors?: Partial<Record<Kind, number>>;
  readonly extra?: readonly Flow[];
}

const HOURS_PER_MONTH = 730;

/** The flows of a source of this size. Payments are as frequent as new invoices, since each is paid once. */
export function flowsOf(counts: Counts, parameters: StreamParameters, habits?: Habits): Flow[] {
  const usual = LISTS.flatMap((list): Flow[] => {
    const its = parameters.lists[list];
    const count = counts[list];
    const monthly = (share: number) => (share * count) / HOURS_PER_MONTH;
    const arrivals = rowsPerDay(its, count) / 24;
    const backDated = monthly(its.backDatedPerMonth);
    return [
      { list, kind: 'new', perHour: arrivals, places: 'newest' },
      { list, kind: 'paid', perHour: list === 'invoices' ? arrivals : 0, places: 'open' },
      { list, kind: 'edited', perHour: monthly(its.editedPerMonth), places: 'aged' },
      { list, kind: 'back-dated', perHour: backDated, places: 'aged' },
      { list, kind: 'moved', perHour: monthly(its.movedPerMonth), places: 'aged' },
      { list, kind: 'deleted', perHour: monthly(its.deletedPerMonth), places: 'aged' },
    ];
  });
  const scaled = usual.map(flow => ({
    ...flow,
    perHour: flow.perHour * parameters.times * (habits?.factors?.[flow.kind] ?? 1),
  }));
  return [...scaled, ...(habits?.extra ?? [])].filter(({ perHour }) => perHour > 0);
}
