import type { Question } from '../../engine/agenda/questions.ts';
import { parseSlice, type Slice } from '../../engine/slices/slice.ts';

/** What is asked, in a few words. */
export function questionText({ choice: { slice, asks } }: Pick<Question, 'choice'>): string {
  return typeof asks === 'object' ? `row ${asks.row}` : sliceWords(slice);
}

/** A slice as ledgers write it, in a few words. */
export const wordsOfSlice = (text: string): string => sliceWords(parseSlice(text));

function sliceWords(slice: Slice): string {
  switch (slice.by) {
    case 'id':
      return slice.from === null && slice.to === null ? 'all ids' : `ids ${rangeWords(slice.from, slice.to)}`;
    case 'date':
      return slice.from !== null && slice.from === slice.to ? slice.from : rangeWords(slice.from, slice.to);
    case 'value':
      return `${slice.field} ${slice.value}`;
    case 'one':
      return `row ${slice.key}`;
    case 'total':
      return `total of ${slice.month}`;
    case 'newest':
      return 'newest rows';
    case 'whole':
      return 'all rows';
  }
}

function rangeWords(from: bigint | string | null, to: bigint | string | null): string {
  if (from === null) return to === null ? 'all dates' : `up to ${to}`;
  return to === null ? `from ${from} on` : `${from} to ${to}`;
}
