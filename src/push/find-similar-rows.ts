import type { Job } from '../engine/job.ts';
import type { NewRow } from '../warehouse/pushes/push-rows.ts';
import { comparableText, comparedFields, indexRows, isNewer, type SentLine, visibleFields } from './compare-rows.ts';

/**
 * Finds new rows that may be a line although they differ, by the line's id: sources rewrite values (`&` as `&amp;`, a phone number without
 * blanks, a rounded amount). A row is similar if one of the `identifying` fields agrees, or more than half of the comparable fields. When in
 * doubt it is similar: a line that is held back can be sent later, but a line sent twice creates a duplicate.
 */
export function findSimilarRows(
  job: Job,
  identifying: readonly string[],
  items: readonly SentLine[],
  rows: readonly NewRow[],
): Map<string, NewRow> {
  const found = new Map<string, NewRow>();
  const visible = visibleFields(rows);
  const indexes = new Map<string, Map<string, NewRow[]>>();
  for (const item of items) {
    const { id, body } = item;
    const agreeing = new Map<NewRow, number>();
    let compared = 0;
    for (const part of comparedFields(body, visible)) {
      const text = comparableText(job, body, [part], lettersAndDigits);
      if (EMPTY.has(text)) continue;
      compared++;
      const name = JSON.stringify(part);
      const index = indexes.get(name) ?? indexRows(job, rows, [part], lettersAndDigits);
      indexes.set(name, index);
      const weight = identifying.includes(part.field) ? Number.POSITIVE_INFINITY : 1;
      for (const row of index.get(text) ?? []) agreeing.set(row, (agreeing.get(row) ?? 0) + weight);
    }
    const similar = [...agreeing].find(([row, weight]) => weight > compared / 2 && isNewer(row, item));
    if (similar) found.set(id, similar[0]);
  }
  return found;
}

/** The comparable texts of a field without a value. */
const EMPTY = new Set(['[null]', '[""]']);

const OTHERS = /[^\p{L}\p{N}]/gu;

/** Drops accents, capitals, HTML entities and everything that is neither a letter nor a digit. */
const lettersAndDigits = (value: unknown): unknown =>
  typeof value === 'string'
    ? value
        .replace(/&#?\w{1,32};/g, '')
        // Before the accents are taken off their letters too: sorting a long run of marks takes quadratic time.
        .replace(OTHERS, '')
        .normalize('NFD')
        .replace(OTHERS, '')
        .toLowerCase()
    : (value ?? null);
