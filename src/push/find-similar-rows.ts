import type { Job } from '../engine/job.ts';
import type { NewRow } from '../warehouse/pushes/push-rows.ts';
import type { PushItem } from '../warehouse/pushes/pushes.ts';
import { indexRows, isLater, saidBy, shapeOf, shownIn } from './match-rows.ts';

/**
 * Which new row may be which line although it says something else, by the id of the line: sources rewrite what they are given (`&` as
 * `&amp;`, a phone number without its blanks, a rounded amount). A row is like a line where one of the `telling` fields agrees, or more
 * than half of those that can be compared. In doubt it is: a line that is left alone can be sent later, one that is sent twice is there twice.
 */
export function findAlike(
  job: Job,
  telling: readonly string[],
  items: readonly Pick<PushItem, 'id' | 'body' | 'lastId'>[],
  rows: readonly NewRow[],
): Map<string, NewRow> {
  const found = new Map<string, NewRow>();
  const shown = shownIn(rows);
  const indexes = new Map<string, Map<string, NewRow[]>>();
  for (const { id, body, lastId } of items) {
    const agreeing = new Map<NewRow, number>();
    let compared = 0;
    for (const part of shapeOf(body, shown)) {
      const said = saidBy(job, body, [part], loosely);
      if (SAYS_NOTHING.has(said)) continue;
      compared++;
      const name = JSON.stringify(part);
      const index = indexes.get(name) ?? indexRows(job, rows, [part], loosely);
      indexes.set(name, index);
      const weight = telling.includes(part.field) ? Number.POSITIVE_INFINITY : 1;
      for (const row of index.get(said) ?? []) agreeing.set(row, (agreeing.get(row) ?? 0) + weight);
    }
    const alike = [...agreeing].find(([row, weight]) => weight > compared / 2 && isLater(row.id, lastId));
    if (alike) found.set(id, alike[0]);
  }
  return found;
}

const SAYS_NOTHING = new Set(['[null]', '[""]']);

/** Letters and digits alone, without accents, capitals and what HTML writes for other signs. */
const loosely = (value: unknown): unknown =>
  typeof value === 'string'
    ? value
        .replace(/&#?\w+;/g, '')
        .normalize('NFD')
        .replace(/[^\p{L}\p{N}]/gu, '')
        .toLowerCase()
    : (value ?? null);
