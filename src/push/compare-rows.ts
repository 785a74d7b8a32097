import type { Job } from '../engine/job.ts';
import type { NewRow } from '../warehouse/pushes/push-rows.ts';
import type { PushItem } from '../warehouse/pushes/pushes.ts';

/** The fields in which a line and a row are compared; of a list field, the keys that each of its elements has. */
export type ComparedFields = readonly { readonly field: string; readonly inner: readonly string[] | null }[];

/** The fields that at least one of the rows has a value for. */
export const visibleFields = (rows: readonly NewRow[]): ReadonlySet<string> =>
  new Set(rows.flatMap(({ row }) => Object.keys(row).filter(field => isVisible(row[field]))));

const isVisible = (value: unknown): boolean =>
  value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0);

/** The fields of a line that can be compared: the source fills the others itself, or its list does not show them. */
export function comparedFields(body: PushItem['body'], visible: ReadonlySet<string>): ComparedFields {
  const fields = Object.keys(body).filter(field => visible.has(field));
  return fields.sort().map(field => {
    const value = body[field];
    if (!Array.isArray(value)) return { field, inner: null };
    const keys = value.map(element => Object.keys(element as object));
    return { field, inner: (keys[0] ?? []).filter(key => keys.every(others => others.includes(key))).sort() };
  });
}

/** A line, and what the warehouse held before it was sent. */
export interface SentLine extends Pick<PushItem, 'id' | 'body' | 'lastId' | 'lastAt'> {
  /** See `HighestIds`. Default: `lastId`. */
  readonly keptId?: string | null;
}

/** Whether a row may have been created since a line was sent. The texts of moments come from one session, so they sort as the moments do. */
export function isNewer({ id, storedAt }: NewRow, { lastId, lastAt, keptId = lastId }: SentLine): boolean {
  const isChanged = storedAt > (lastAt ?? '');
  return id === null ? isChanged : isAbove(id, lastId) || (isChanged && isAbove(id, keptId));
}

export const isAbove = (id: string, than: string | null): boolean => than === null || BigInt(id) > BigInt(than);

/** The rows by their comparable text. */
export function indexRows(
  job: Job,
  rows: readonly NewRow[],
  fields: ComparedFields,
  normalize = trimmed,
): Map<string, NewRow[]> {
  const index = new Map<string, NewRow[]>();
  for (const row of rows) {
    const text = comparableText(job, row.row, fields, normalize);
    const equal = index.get(text);
    if (equal) equal.push(row);
    else index.set(text, [row]);
  }
  return index;
}

/** One text for a record's values, as the job parses them and `normalize` writes them: equal records have equal text. */
export function comparableText(
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
