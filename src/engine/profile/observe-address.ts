import type { Observation } from './observation.ts';

/** The address of a row that the list lacks said this in place of 404. */
export const hidesDeletion = (key: string, instead: string): Observation => ({
  trait: 'address',
  value: 'no 404',
  evidence: `asked for row ${key}, which the list lacks, got ${instead}`,
});

const MARK = /^(?:is_)?(?:deleted|trashed|removed)(?:_(?:at|on|date))?$/i;
const UNMARKED = new Set<unknown>([
  null,
  undefined,
  false,
  0,
  '',
  '0',
  'false',
  'no',
  '0000-00-00',
  '0000-00-00 00:00:00',
]);

/** A field that marks the record as deleted, in words; null if there is none. */
export function deletionMark(record: Readonly<Record<string, unknown>>): string | null {
  const mark = Object.keys(record).find(field => MARK.test(field) && !UNMARKED.has(record[field]));
  return mark === undefined ? null : `the row with "${mark}"`;
}
