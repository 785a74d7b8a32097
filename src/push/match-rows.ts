import type { Job } from '../engine/job.ts';
import type { NewRow } from '../warehouse/pushes/push-rows.ts';
import type { PushItem } from '../warehouse/pushes/pushes.ts';

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
  const indexOf = createIndexes(job, rows);
  for (const item of items) {
    const { id, body, sourceId } = item;
    const fields = comparedFields(body, visible);
    if (fields.length === 0) continue;
    const row = indexOf(fields)
      .get(comparableText(job, body, fields))
      ?.find(each => !taken.has(each.key) && mayBe(each, item) && (sourceId === null || each.id === null));
    if (!row) continue;
    taken.add(row.key);
    found.set(id, row.key);
  }
  return found;
}

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
  const indexOf = createIndexes(job, rows, lettersAndDigits);
  for (const item of items) {
    const { id, body } = item;
    const agreeing = new Map<NewRow, number>();
    let compared = 0;
    for (const part of comparedFields(body, visible)) {
      const text = comparableText(job, body, [part], lettersAndDigits);
      if (EMPTY.has(text)) continue;
      compared++;
      const weight = identifying.includes(part.field) ? Number.POSITIVE_INFINITY : 1;
      for (const row of indexOf([part]).get(text) ?? []) agreeing.set(row, (agreeing.get(row) ?? 0) + weight);
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

/** The fields in which a line and a row are compared; of a list field, the keys that each of its elements has. */
type ComparedFields = readonly { readonly field: string; readonly inner: readonly string[] | null }[];

/** The fields that at least one of the rows has a value for. */
const visibleFields = (rows: readonly NewRow[]): ReadonlySet<string> =>
  new Set(rows.flatMap(({ row }) => Object.keys(row).filter(field => isVisible(row[field]))));

const isVisible = (value: unknown): boolean =>
  value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0);

/** The fields of a line that can be compared: the source fills the others itself, or its list does not show them. */
function comparedFields(body: PushItem['body'], visible: ReadonlySet<string>): ComparedFields {
  const fields = Object.keys(body).filter(field => visible.has(field));
  return fields.sort().map(field => {
    const value = body[field];
    if (!Array.isArray(value)) return { field, inner: null };
    const keys = value.map(element => Object.keys(element as object));
    return { field, inner: (keys[0] ?? []).filter(key => keys.every(others => others.includes(key))).sort() };
  });
}

/** A line, and what the warehouse held before it was sent. */
interface SentLine extends Pick<PushItem, 'id' | 'body' | 'lastId' | 'lastAt'> {
  /** See `HighestIds`. Default: `lastId`. */
  readonly keptId?: string | null;
}

/** Whether a row may have been created since a line was sent. The texts of moments come from one session, so they sort as the moments do. */
function isNewer({ id, storedAt }: NewRow, { lastId, lastAt, keptId = lastId }: SentLine): boolean {
  const isChanged = storedAt > (lastAt ?? '');
  return id === null ? isChanged : isAbove(id, lastId) || (isChanged && isAbove(id, keptId));
}

export const isAbove = (id: string, than: string | null): boolean => than === null || BigInt(id) > BigInt(than);

/** Indexes of the rows by their comparable text, one for each choice of fields. */
function createIndexes(job: Job, rows: readonly NewRow[], normalize = trimmed) {
  const indexes = new Map<string, Map<string, NewRow[]>>();
  return (fields: ComparedFields): ReadonlyMap<string, readonly NewRow[]> => {
    const name = JSON.stringify(fields);
    const known = indexes.get(name);
    if (known) return known;
    const index = new Map<string, NewRow[]>();
    for (const row of rows) {
      const text = comparableText(job, row.row, fields, normalize);
      const equal = index.get(text);
      if (equal) equal.push(row);
      else index.set(text, [row]);
    }
    indexes.set(name, index);
    return index;
  };
}

/** One text for a record's values, as the job parses them and `normalize` writes them: equal records have equal text. */
function comparableText(
  job: Job,
  record: Readonly<Record<string, unknown>>,
  fields: ComparedFields,
  normalize = trimmed,
): string {
  return JSON.stringify(
    fields.map(({ field, inner }) => {
      const parsed = job.record.shape[field]?.safeParse(pick(record[field], inner));
      // A job that does not declare the field keeps it among the unknown ones, which are not compared.
      if (!parsed?.success) return null;
      if (inner === null || !Array.isArray(parsed.data)) return normalize(parsed.data);
      const elements = parsed.data as Record<string, unknown>[];
      // The order of the elements is the source's own.
      return elements.map(element => JSON.stringify(inner.map(key => normalize(element[key])))).sort();
    }),
  );
}

function pick(value: unknown, inner: readonly string[] | null): unknown {
  if (inner === null || !Array.isArray(value)) return value;
  return value.map(element => Object.fromEntries(inner.map(key => [key, (element as Record<string, unknown>)[key]])));
}

const trimmed = (value: unknown): unknown => (typeof value === 'string' ? value.trim().toLowerCase() : (value ?? null));
