import { addDays, type Day } from '../slices/date-windows.ts';
import type { Observation } from './observation.ts';
import type { SourceProfile } from './source-profile.ts';

type Rows = readonly { readonly values: Readonly<Record<string, string | null>> }[];

/** Days that a window was asked for by, in a date field of the rows. Both are included; null where it is open. */
export interface AskedDays {
  readonly from: Day | null;
  readonly to: Day | null;
  readonly field: string;
}

/** A filter by value is trusted only while every returned row has that value. A row that does not show the field says nothing. */
export function observeValueFilter(field: string, value: string, rows: Rows): Observation[] {
  const others = rows.filter(row => row.values[field] !== undefined && row.values[field] !== value).length;
  const evidence = `asked for ${field}=${value}, got ${others} rows with another`;
  return others > 0 ? [{ trait: `filter ${field}`, value: 'ignored', evidence }] : [];
}

/** A filter of another time zone selects days that begin hours before or after those which rows show. Windows are asked for with as much more. */
const MOST_SHIFT = 1;

/** A date filter is trusted only while every returned row lies within it; rows on its first and last day show that it includes them. */
export function observeDateFilter(profile: SourceProfile, asked: AskedDays, rows: Rows): Observation[] {
  if (profile.hidesDates) return [];
  const { from, to, field } = asked;
  if (rows.length > 0 && rows.every(row => row.values[field] === undefined))
    return [{ trait: 'dates', value: 'no', evidence: `rows come without the field "${field}"` }];
  const days = rows.map(row => row.values[field]).filter((day): day is string => typeof day === 'string');
  const outside = days.filter(
    day => (from !== null && day < addDays(from, -MOST_SHIFT)) || (to !== null && day > addDays(to, MOST_SHIFT)),
  ).length;
  if (outside > 0) {
    const evidence = `asked for ${daysText(asked)}, got ${outside} rows outside`;
    if (isHalfOpen(asked)) return [needsBothDates(evidence)];
    return [{ trait: 'date filter', value: 'ignored', evidence }];
  }
  const observations: Observation[] = [];
  if (from !== null && days.includes(from))
    observations.push({
      trait: 'date from',
      value: 'inclusive',
      evidence: `asked from ${from}, got a row of that day`,
    });
  // Once it showed that day in part, a row of it proves nothing.
  if (to !== null && days.includes(to) && profile.dateTo !== 'in doubt')
    observations.push({ trait: 'date to', value: 'inclusive', evidence: `asked to ${to}, got a row of that day` });
  return observations;
}

/** Asked for by one date only. */
export const isHalfOpen = ({ from, to }: AskedDays): boolean => (from === null) !== (to === null);

export const daysText = ({ from, to }: AskedDays): string => `${from ?? ''}..${to ?? ''}`;

export const needsBothDates = (evidence: string): Observation => ({ trait: 'date bounds', value: 'both', evidence });

/** Once this is known, windows are asked for by just their days. */
export const narrows = ({ dateFrom, dateTo }: SourceProfile, { trait, value }: Observation): boolean =>
  value === 'inclusive' && ((trait === 'date from' && dateFrom !== value) || (trait === 'date to' && dateTo !== value));

/** An observation that says that the filter cannot be trusted, so that nothing follows from the answer. */
export const isDistrust = ({ trait, value }: Observation): boolean =>
  trait === 'date filter' ||
  trait === 'date bounds' ||
  trait.startsWith('filter ') ||
  (trait === 'dates' && value === 'no');
