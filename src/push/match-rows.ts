import type { Job } from '../engine/job.ts';
import type { NewRow } from '../warehouse/pushes/push-rows.ts';
import type { PushItem } from '../warehouse/pushes/pushes.ts';
import { comparableText, comparedFields, indexRows, isNewer, type SentLine, visibleFields } from './compare-rows.ts';

/**
 * Finds the new row of each line, by the line's id: a row whose fields equal the line's as the job parses both, apart from capitals and
 * outer blanks. Fields that the line omits or that no new row shows are not compared. Each row is given to one line. A line whose answer
 * named an id is matched only with rows that show none. `mayBe`: which rows may be a line. Default: those that are newer.
 */
export function matchRows(
  job: Job,
  items: readonly (SentLine & Pick<PushItem, 'sourceId'>)[],
  rows: readonly NewRow[],
  mayBe = isNewer,
): Map<string, string> {
  const found = new Map<string, string>();
  const taken = new Set<string>();
  const visible = visibleFields(rows);
  const indexes = new Map<string, Map<string, NewRow[]>>();
  for (const item of items) {
    const { id, body, sourceId } = item;
    const fields = comparedFields(body, visible);
    if (fields.length === 0) continue;
    const name = JSON.stringify(fields);
    const index = indexes.get(name) ?? indexRows(job, rows, fields);
    indexes.set(name, index);
    const row = index
      .get(comparableText(job, body, fields))
      ?.find(each => !taken.has(each.key) && mayBe(each, item) && (sourceId === null || each.id === null));
    if (!row) continue;
    taken.add(row.key);
    found.set(id, row.key);
  }
  return found;
}
