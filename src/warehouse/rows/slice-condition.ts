import { type RawBuilder, sql } from 'kysely';
import type { Slice } from '../../engine/slices/slice.ts';
import { SluiceError } from '../../errors.ts';
import type { Column, Table } from './tables.ts';

/** Selects the stored rows `t` in the slice; null for a slice without members of its own (`newest`, `total`). `dateField`: the column that `date` slices cut by. */
export function sliceCondition(slice: Slice, table: Table, dateField: string | undefined): RawBuilder<boolean> | null {
  switch (slice.by) {
    case 'id':
      return between(table.id, slice.from?.toString() ?? null, slice.to?.toString() ?? null);
    case 'date':
      return between(columnOf(table, dateField ?? 'date'), slice.from, slice.to);
    case 'value':
      return equals(columnOf(table, slice.field), slice.value);
    case 'one':
      return equals(table.key, slice.key);
    case 'whole':
      return sql`true`;
    case 'newest':
    case 'total':
      return null;
  }
}

/** Both conditions; null where neither is one. */
export const both = (a: RawBuilder<boolean> | null, b: RawBuilder<boolean> | null): RawBuilder<boolean> | null =>
  a && b ? sql`(${a} and ${b})` : (a ?? b);

function columnOf(table: Table, name: string): Column {
  const column = table.columns.find(each => each.name === name);
  if (!column) throw new SluiceError('failed', `Table ${table.name} has no column "${name}" to slice by.`);
  return column;
}

// The value is cast, not the column, so that the column's index can be used.
function equals(column: Column, value: string): RawBuilder<boolean> {
  return sql`${sql.ref(`t.${column.name}`)} = cast(${value} as ${sql.raw(column.type)})`;
}

function between(column: Column, from: string | null, to: string | null): RawBuilder<boolean> {
  const field = sql.ref(`t.${column.name}`);
  const type = sql.raw(column.type);
  const low = from === null ? sql`` : sql`and ${field} >= cast(${from} as ${type})`;
  const high = to === null ? sql`` : sql`and ${field} <= cast(${to} as ${type})`;
  return sql`(${field} is not null ${low} ${high})`;
}
