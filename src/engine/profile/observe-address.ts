import { HOUR } from '../../clock.ts';
import type { Observation } from './observation.ts';
import { type ShownRow, shownThoughLacked } from './shown-though-lacked.ts';
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

/** The address of a row showed it although the list lacked it: if it does so again and again, such addresses show deleted rows, too. */
export function addressShows({ addressShown }: SourceProfile, row: ShownRow, lagMs: number): Observation | null {
  const shown = shownThoughLacked(addressShown, [row], lagMs);
  if (shown === null) return null;
  if (shown.again) return hidesDeletion(row.key, 'it again and again');
  return {
    trait: 'address shown',
    value: shown.value,
    evidence: `asked for row ${row.key}, which the list lacked, got it`,
  };
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
