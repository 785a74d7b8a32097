import { isBeyondWindows } from '../../../../src/engine/slices/date-windows.ts';
import { type Finding, observed, undetermined, unrecognized } from '../../findings/finding.ts';
import { shapeOf } from '../../lists/documented-lists.ts';
import { FEW, type ListReadings, requestRows } from '../../lists/read-lists.ts';
import type { Requester } from '../../requests/requester.ts';

/** A window of all dates. */
export const ALL_TIME = { date_from: '1000-01-01', date_to: '9999-12-31' };
/** The years that a server with 32-bit times knows in full. */
export const NEAR_TIME = { date_from: '1902-01-01', date_to: '2037-12-31' };

/** `dates`: whether a listed row has a date that no window reaches at every source. */
export function checkFarDates({ offered }: ListReadings): Finding {
  const dates = offered
    .filter(({ name }) => shapeOf(name).dated)
    .flatMap(({ rows }) => rows.flatMap(({ date }) => (typeof date === 'string' ? [date.slice(0, 10)] : [])));
  if (dates.length === 0) return undetermined('dates', 'no list shows dates');
  const far = dates.filter(isBeyondWindows);
  if (far.length > 0) return observed('dates', 'far', `${far.length} of ${dates.length} rows, e.g. ${far[0]}`);
  return observed('dates', 'near', `none of ${dates.length} rows is of a year before 1902 or after 2037`);
}

/** `date-bounds`: whether a window that starts and ends far away shows rows as a nearer one does. */
export async function checkDateBounds(
  requester: Requester,
  { offered }: ListReadings,
  windowsWork: boolean,
): Promise<Finding> {
  const reading = offered.find(({ name, rows }) => shapeOf(name).dated && rows.length > 0);
  if (!reading) return undetermined('date-bounds', 'no list with dates has rows');
  if (!windowsWork) return undetermined('date-bounds', 'no window of dates works');
  const ask = (window: typeof ALL_TIME) => requestRows(requester, reading.name, { ...window, page: 1, limit: FEW });
  const far = await ask(ALL_TIME);
  const requested = `${reading.name}: requested ${ALL_TIME.date_from} to ${ALL_TIME.date_to}`;
  if (far.count > 0) return observed('date-bounds', 'any', `${requested}, got rows`);
  const near = await ask(NEAR_TIME);
  const nearer = `${NEAR_TIME.date_from} to ${NEAR_TIME.date_to}`;
  if (near.count === 0) return undetermined('date-bounds', `no window returns rows, not even ${nearer}`);
  if (far.verdict.kind === 'refused')
    return observed('date-bounds', 'rejected', `${requested}, got HTTP ${far.status}; ${nearer} is accepted`);
  if (far.verdict.kind === 'success' || far.verdict.kind === 'gone')
    return observed('date-bounds', 'wrapped', `${requested}, got no rows; ${nearer} returns some`);
  // Sluice asks for dates in these years only, so it never gets this answer.
  return unrecognized('date-bounds', `${requested}, got HTTP ${far.status}; ${nearer} is accepted`, 'yes');
}
