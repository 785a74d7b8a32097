import { type Finding, observed, undetermined } from '../../findings/finding.ts';
import { shapeOf } from '../../lists/documented-lists.ts';
import { countObjects, type ListReadings, requestCount } from '../../lists/read-lists.ts';
import type { Requester } from '../../requests/requester.ts';
import type { Row } from '../../requests/send-request.ts';
import { ALL_TIME, NEAR_TIME } from './check-date-bounds.ts';

/** `undated`: rows without a date, or rows that the list counts and no window returns. */
export async function checkUndated(
  requester: Requester,
  lists: ListReadings,
  { windowsWork, farDatesWork }: { windowsWork: boolean; farDatesWork: boolean },
): Promise<Finding> {
  const dated = lists.offered.filter(({ name, rows }) => shapeOf(name).dated && rows.length > 0);
  if (dated.length === 0) return undetermined('undated', 'no list with dates has rows');
  // If no row has the field, the list omits it, which says nothing about single rows.
  const shown = dated.find(({ rows }) => rows.some(hasDate) && !rows.every(hasDate));
  if (shown) {
    const count = shown.rows.filter(row => !hasDate(row)).length;
    return observed('undated', 'yes', `${shown.name}: ${count} of ${shown.rows.length} rows have no date`);
  }
  const counted = windowsWork ? dated.filter(({ total }) => total !== undefined) : [];
  for (const reading of counted) {
    const within = await requestCount(requester, reading, farDatesWork ? ALL_TIME : NEAR_TIME);
    const objects = countObjects(reading);
    if (within === undefined || objects === undefined || within >= objects) continue;
    // The list may have changed meanwhile.
    const now = await requestCount(requester, reading, {});
    if (now === reading.total)
      return observed('undated', 'yes', `${reading.name}: ${objects} rows, of which the windows return ${within}`);
  }
  const rows = dated.reduce((sum, each) => sum + each.rows.filter(hasDate).length, 0);
  const all = counted.length === dated.length ? ', and the windows return every row counted' : '';
  return observed('undated', 'no', `all of ${rows} rows have a date${all}`);
}

function hasDate({ date }: Row): boolean {
  return date !== undefined && date !== null && date !== '' && !String(date).startsWith('0000-00-00');
}
