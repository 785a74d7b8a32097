import { addDays, isBeyondWindows } from '../../../../src/engine/slices/date-windows.ts';
import { type Finding, observed, undetermined } from '../../findings/finding.ts';
import { shapeOf } from '../../lists/documented-lists.ts';
import { FEW, type ListReadings, requestRows } from '../../lists/read-lists.ts';
import type { Requester } from '../../requests/requester.ts';
import { dayOf } from './check-dates.ts';

/** The days of each half of the window. */
const HALF = 200;

/** `date-span`: whether a window of more than a year counts the rows of both its halves. */
export async function checkDateSpan(
  requester: Requester,
  { offered }: ListReadings,
  windowsWork: boolean,
): Promise<Finding> {
  const reading = offered.find(
    ({ name, rows, total }) => shapeOf(name).dated && rows.length > 0 && total !== undefined,
  );
  if (!reading) return undetermined('date-span', 'no list with dates counts its rows');
  if (!windowsWork) return undetermined('date-span', 'no window of dates works');
  const days = reading.rows.flatMap(row => dayOf(row) ?? []).filter(day => !isBeyondWindows(day));
  const to = days.sort().at(-1);
  if (to === undefined) return undetermined('date-span', 'no row has a date');
  const ask = (date_from: string, date_to: string) =>
    requestRows(requester, reading.name, { date_from, date_to, page: 1, limit: FEW });
  const from = addDays(to, 1 - 2 * HALF);
  const whole = await ask(from, to);
  const requested = `${reading.name}: requested ${from} to ${to}`;
  if (whole.verdict.kind === 'refused')
    return observed('date-span', 'rejected-92', `${requested}, got HTTP ${whole.status}`);
  const older = await ask(from, addDays(from, HALF - 1));
  const newer = await ask(addDays(from, HALF), to);
  const [all, first, last] = [whole, older, newer].map(({ meta }) => meta?.totalRecords) as [number?, number?, number?];
  if (!all || !first || !last) return undetermined('date-span', `${requested}, and one of its halves counts no rows`);
  const evidence = `${requested}, got a count of ${all}; its halves count ${first} and ${last}`;
  if (all >= first + last) return observed('date-span', 'any', evidence);
  // A count that ignores the filter, or is off in another way, shows nothing.
  if (first === last || (all !== first && all !== last)) return undetermined('date-span', evidence);
  return observed('date-span', all === first ? 'first-92' : 'last-92', evidence);
}
