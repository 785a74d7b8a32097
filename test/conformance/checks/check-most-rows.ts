import { type Finding, observed, undetermined } from '../findings/finding.ts';
import { SUSPICIOUS_COUNTS, shapeOf } from '../lists/documented-lists.ts';
import { type ListReading, type ListReadings, requestRows } from '../lists/read-lists.ts';
import type { Requester } from '../requests/requester.ts';
import { dayOf } from './dates/check-dates.ts';

/**
 * `most-rows`: whether a list that comes in one response, without a count, is all of it. One request asks for the older half of its dates:
 * a row there that the response lacks was cut off.
 */
export async function checkMostRows(
  requester: Requester,
  { offered }: ListReadings,
  windowsWork: boolean,
): Promise<Finding[]> {
  const uncounted = offered.filter(({ first, rows }) => !first.meta && rows.length > 0);
  if (uncounted.length === 0) return [observed('most-rows', 'all', 'every list counts its rows')];
  const names = uncounted.map(({ name }) => name).join(', ');
  const unproven = `${names}: no count, so Sluice proves their end by date windows, or once a change shows it`;
  // A response of a usual length is reported as paging=capped.
  const dated = uncounted.filter(({ name, first }) => shapeOf(name).dated && !SUSPICIOUS_COUNTS.includes(first.count));
  if (!windowsWork || dated.length === 0) return [undetermined('most-rows', unproven)];
  const cut = new Map<number, string[]>();
  const whole: string[] = [];
  for (const reading of dated) {
    const beyond = await rowsBeyond(requester, reading);
    if (beyond === 0) whole.push(`${reading.name}: all rows of its older half`);
    if (!beyond) continue;
    const { length } = reading.rows;
    cut.set(length, [
      ...(cut.get(length) ?? []),
      `${reading.name}: ${length} rows, without ${beyond} of its older half`,
    ]);
  }
  if (cut.size > 0)
    return [...cut].map(([rows, lists]) => observed('most-rows', String(rows), `${lists.join('; ')}; ${unproven}`));
  if (whole.length > 0) return [observed('most-rows', 'all', `${whole.join('; ')}; ${unproven}`)];
  return [undetermined('most-rows', unproven)];
}

/** Rows of the older half of the days that the response does not show; null if it has too few days, or its list turns pages. */
async function rowsBeyond(requester: Requester, { name, rows, second, limit }: ListReading): Promise<number | null> {
  const days = rows.flatMap(row => dayOf(row) ?? []).sort();
  const middle = days[Math.floor(days.length / 2)];
  if (second?.rows?.length !== rows.length || middle === undefined || days[0] === days.at(-1)) return null;
  const older = await requestRows(requester, name, { date_from: '1950-01-01', date_to: middle, page: 1, limit });
  const shown = new Set(rows.map(row => JSON.stringify(row)));
  return (older.rows ?? []).filter(row => !shown.has(JSON.stringify(row))).length;
}
