import { isObject, parseJson } from '../../../src/source/answers/json.ts';
import { type Finding, observed, undetermined } from '../findings/finding.ts';
import { cellsOf } from '../lists/cells.ts';
import type { ListReadings } from '../lists/read-lists.ts';
import type { Answer } from '../requests/send-request.ts';

const LONGEST_COUNT = 2 ** 31 - 1;

/** Ids and counts at the edge of their types. */
export function checkEdges(lists: ListReadings): Finding[] {
  return [checkIds(lists), checkCounts(lists)];
}

function checkIds(lists: ListReadings): Finding {
  const ids = cellsOf(lists).filter(({ kind, value }) => kind === 'id' && Number(value) > 0);
  if (ids.length === 0) return undetermined('ids', 'no row has an id');
  const edge = ids.find(({ value }) => Number(value) >= 2 ** 63);
  return edge
    ? observed('ids', 'edge', `e.g. ${edge.list}.${edge.field} ${String(edge.value)}`)
    : observed('ids', 'small', `none of ${ids.length} ids is near 2^63`);
}

/** Sluice takes a count that cannot be one as absent. */
function checkCounts({ offered }: ListReadings): Finding {
  const counts = offered.flatMap(({ first }) => countOf(first) ?? []);
  if (counts.length === 0) return undetermined('count-values', 'no list is counted');
  const seen = formOf(counts);
  return observed('count-values', seen, `e.g. a total_records of ${counts[0]}`);
}

function countOf({ text }: Answer): number | undefined {
  const body = parseJson(text);
  const total = isObject(body) && isObject(body.meta) ? Number(body.meta.total_records) : Number.NaN;
  return Number.isNaN(total) ? undefined : total;
}

function formOf(counts: readonly number[]): string {
  if (counts.some(count => count < 0)) return 'negative';
  if (counts.some(count => !Number.isInteger(count))) return 'fraction';
  if (counts.some(count => !Number.isSafeInteger(count))) return 'overflown';
  return counts.some(count => count > LONGEST_COUNT) ? 'huge' : 'counts';
}
