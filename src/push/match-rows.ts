import type { Job } from '../engine/job.ts';
import type { NewRow } from '../warehouse/pushes/push-rows.ts';
import type { PushItem } from '../warehouse/pushes/pushes.ts';

/** What of a line is compared: its fields, and of a list those that each of its elements has. */
type Shape = readonly { readonly field: string; readonly inner: readonly string[] | null }[];

/**
 * Which of the new rows is which line, by the id of the line: the row that says what the line says, as the job reads both. Fields that
 * the line leaves out are the source's to fill, and those that no new row shows cannot be compared; capitals and outer blanks may have
 * been tidied up. A row is given to one line only; a line whose answer named its id is looked for among rows that show none.
 */
export function matchRows(
  job: Job,
  items: readonly Pick<PushItem, 'id' | 'body' | 'lastId' | 'sourceId'>[],
  rows: readonly NewRow[],
): Map<string, string> {
  const found = new Map<string, string>();
  const taken = new Set<string>();
  const shown = shownIn(rows);
  const indexes = new Map<string, Map<string, NewRow[]>>();
  for (const { id, body, lastId, sourceId } of items) {
    const shape = shapeOf(body, shown);
    // Rows that show nothing of a line tell nothing about it.
    if (shape.length === 0) continue;
    const name = JSON.stringify(shape);
    const index = indexes.get(name) ?? indexRows(job, rows, shape);
    indexes.set(name, index);
    const mayBe = (row: NewRow) =>
      !taken.has(row.key) && isLater(row.id, lastId) && (sourceId === null || row.id === null);
    const row = index.get(saidBy(job, body, shape))?.find(mayBe);
    if (!row) continue;
    taken.add(row.key);
    found.set(id, row.key);
  }
  return found;
}

/** The fields that at least one of the rows shows. */
export const shownIn = (rows: readonly NewRow[]): ReadonlySet<string> =>
  new Set(rows.flatMap(({ row }) => Object.keys(row).filter(field => isShown(row[field]))));

const isShown = (value: unknown): boolean =>
  value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0);

export const isLater = (id: string | null, lastId: string | null): boolean =>
  id === null || lastId === null || BigInt(id) > BigInt(lastId);

export function shapeOf(body: PushItem['body'], shown: ReadonlySet<string>): Shape {
  const fields = Object.keys(body).filter(field => shown.has(field));
  return fields.sort().map(field => {
    const value = body[field];
    if (!Array.isArray(value)) return { field, inner: null };
    const keys = value.map(element => Object.keys(element as object));
    return { field, inner: (keys[0] ?? []).filter(key => keys.every(others => others.includes(key))).sort() };
  });
}

export function indexRows(job: Job, rows: readonly NewRow[], shape: Shape, form = tidy): Map<string, NewRow[]> {
  const index = new Map<string, NewRow[]>();
  for (const row of rows) {
    const text = saidBy(job, row.row, shape, form);
    const alike = index.get(text);
    if (alike) alike.push(row);
    else index.set(text, [row]);
  }
  return index;
}

/** The same text for all that say the same, each value in its `form`. */
export function saidBy(job: Job, record: Readonly<Record<string, unknown>>, shape: Shape, form = tidy): string {
  return JSON.stringify(
    shape.map(({ field, inner }) => {
      const parsed = job.record.shape[field]?.safeParse(picked(record[field], inner));
      // A job without the field keeps it among the unknown ones, which are not compared.
      if (!parsed?.success) return null;
      if (inner === null || !Array.isArray(parsed.data)) return form(parsed.data);
      const elements = parsed.data as Record<string, unknown>[];
      // In what order a source lists them is its own affair.
      return elements.map(element => JSON.stringify(inner.map(key => form(element[key])))).sort();
    }),
  );
}

function picked(value: unknown, inner: readonly string[] | null): unknown {
  if (inner === null || !Array.isArray(value)) return value;
  return value.map(element => Object.fromEntries(inner.map(key => [key, (element as Record<string, unknown>)[key]])));
}

const tidy = (value: unknown): unknown => (typeof value === 'string' ? value.trim().toLowerCase() : (value ?? null));
