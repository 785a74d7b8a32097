import type { StoredValues } from '../../warehouse/reports/stored-record.ts';
import { durationText } from '../format.ts';
import { wordsOfSlice } from '../status/slice-words.ts';
import type { RecordStory } from './read-story.ts';

/** One sentence about a record, and what follows from it. `now`: epoch milliseconds. */
export function recordVerdict(story: RecordStory, now: number): { text: string; rest: string } {
  const { resource, key, state, slice, provenAt, missing, quarantined, held, ended, current } = story;
  const name = `${resource} ${key}`;
  const since = (at: number) => `${durationText(Math.max(now - at, 0) / 1000)} ago`;
  const proof =
    provenAt === null
      ? 'The part of the list that holds it was not read in full yet.'
      : `It was last compared ${since(provenAt)}, in a reading of ${slice === null ? 'its list' : slice.split(', ').map(wordsOfSlice).join(' and ')}.`;
  switch (state) {
    case 'stored': {
      const changed = current === null ? '' : ` Its last change arrived ${since(current.since)}.`;
      const [first] = held;
      if (first !== undefined)
        return {
          text: `${name} holds what the source has shown empty since ${since(first.since)}`,
          rest: `Kept as stored: ${held.map(({ field }) => field).join(', ')}. It ends once the source shows it again, or somebody accepts the loss. ${proof}${changed}`,
        };
      return {
        text: provenAt === null ? `${name} is stored` : `${name} equals the source as of ${since(provenAt)}`,
        rest: `${proof}${changed}`,
      };
    }
    case 'missing':
      return {
        text: `${name} has been missing since ${missing === null ? 'some time' : since(missing.since)}`,
        rest: `The source no longer shows it; it is kept until its deletion is proven. ${missing?.why ?? ''}`,
      };
    case 'deleted':
      return {
        text: `${name} was deleted at the source`,
        rest: `Its last version is kept in row_history${ended[0] ? `; it ended ${since(ended[0].to)}` : ''}.`,
      };
    case 'quarantined':
      return {
        text: `${name} is in quarantine`,
        rest: `The source sends it in a form that cannot be stored: ${Object.entries(quarantined?.reasons ?? {})
          .map(([field, reason]) => `${field}: ${reason}`)
          .join('; ')}. ${current === null ? 'No good version was read before.' : 'Its last good version is kept.'}`,
      };
    case 'unknown':
      return {
        text: `${name} is not known here`,
        rest: 'It was never read. If the source shows it, the next reading of its part of the list brings it.',
      };
  }
}

/** Columns that tell of Sluice's own work. */
const OURS = new Set(['_synced_at', '_read_at', '_hash', '_key']);

export function changedFields(before: StoredValues, after: StoredValues) {
  const fields = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...fields]
    .filter(field => !OURS.has(field) && valueText(before[field]) !== valueText(after[field]))
    .map(field => ({ field, before: before[field] ?? null, after: after[field] ?? null }));
}

/** A value as people read it: text as it is, objects as JSON, nothing as an empty text. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
