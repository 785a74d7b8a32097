import { DAY, HOUR } from '../../clock.ts';
import type { Observation } from './observation.ts';
import type { SourceProfile } from './source-profile.ts';

/** The address of a row that the list lacks said this in place of 404. */
export const hidesDeletion = (key: string, instead: string): Observation => ({
  trait: 'address',
  value: 'no 404',
  evidence: `asked for row ${key}, which the list lacks, got ${instead}`,
});

/** A 404 is believed for so long after an address answered for a row that the list shows: permissions and routes change. */
const BELIEVED_MS = HOUR;

/** Whether a 404 at `at` (epoch ms) proves a deletion. Later answers predate a backward clock step. */
export function believesDenial({ addressAnswered }: SourceProfile, at: number): boolean {
  const agoMs = at - Date.parse(addressAnswered ?? '');
  return agoMs >= 0 && agoMs < BELIEVED_MS;
}

/** The address of a row that the list shows answered for it at `at` (epoch ms). */
export const answersForShown = (key: string, at: number): Observation => ({
  trait: 'address answered',
  value: new Date(at).toISOString(),
  evidence: `asked for row ${key}, which the list shows, got it`,
});

/** The address answered for none of these rows, although the list shows them. */
export const deniesShown = (keys: readonly string[]): Observation => ({
  trait: 'address',
  value: 'no 404',
  evidence:
    keys.length > 0
      ? `asked for ${keys.length} rows that the list shows, such as ${keys[0]}, got none of them`
      : 'the list shows no row that could be asked for to compare',
});

/** The address of a row shows it, which the list has lacked since this moment (epoch ms). */
export const addressShows = (key: string, since: number): Observation => ({
  trait: 'address shown',
  value: new Date(since).toISOString(),
  evidence: `asked for row ${key}, which the list lacked again, got it`,
});

/** Whether the list may yet show what it lacks, as an address did: none is asked until a day is over. Earlier versions stored more than the time. */
export function mayShowAgain({ addressShown }: SourceProfile, now: number): boolean {
  const agoMs = now - Date.parse(addressShown?.split(' ')[0] ?? '');
  return agoMs >= 0 && agoMs < DAY;
}

/** The list shows a row that its address denied. */
export const contradictsAddress = (key: string): Observation => ({
  trait: 'address answered',
  value: 'in doubt',
  evidence: `the list shows row ${key} again, which was found deleted`,
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
