import { asList } from '../../../src/source/answers/json.ts';
import { isRow, type Row } from '../requests/send-request.ts';
import { ITEM_FIELDS, type Kind, type ListName, shapeOf } from './documented-lists.ts';
import type { ListReadings } from './read-lists.ts';

/** One value of a row, or its absence. */
export interface Cell {
  readonly list: ListName;
  readonly field: string;
  readonly kind: Kind;
  /** Undefined if the row lacks a field that other rows of the list have. */
  readonly value: unknown;
}

/** Every documented field of every row, including the fields of items. */
export function cellsOf(lists: ListReadings): Cell[] {
  return lists.offered.flatMap(({ name, rows }) => {
    const fields: Record<string, Kind> = { id: 'id', ...shapeOf(name).fields };
    const present = fieldsOf(rows);
    return rows.flatMap(row => cellsOfRow(name, row, fields, present));
  });
}

function cellsOfRow(
  list: ListName,
  row: Row,
  fields: Readonly<Record<string, Kind>>,
  present: ReadonlySet<string>,
): Cell[] {
  return Object.entries(fields).flatMap(([field, kind]) => {
    if (!present.has(field)) return [];
    const value = row[field];
    const cell: Cell = { list, field, kind, value };
    const entries = kind === 'items' ? asList(value) : undefined;
    if (!Array.isArray(entries)) return [cell];
    const items = (entries as unknown[]).filter(isRow);
    const inItems = fieldsOf(items);
    return [cell, ...items.flatMap(item => cellsOfRow(list, item, ITEM_FIELDS, inItems))];
  });
}

/** The fields that at least one of the rows has. */
export function fieldsOf(rows: readonly Row[]): Set<string> {
  const fields = new Set<string>();
  for (const row of rows) for (const field in row) fields.add(field);
  return fields;
}
