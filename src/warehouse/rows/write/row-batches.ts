import { type RawBuilder, sql } from 'kysely';
import { arrayOf } from '../../database/arrays.ts';
import type { Column, Table } from '../tables.ts';
import type { Row } from './row.ts';

/** Rows per statement. 1000 give 85k rows/s on two connections; smaller batches lose a third, larger ones gain nothing. */
const BATCH = 1000;

/** Rows as the columns of one statement. */
export interface Batch {
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
}

/** A statement holds rows with the same set of present columns; nearly all rows of a source share one. */
export function groupByShape(table: Table, rows: readonly Row[]): Batch[] {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    let shape = '';
    for (const { name } of table.columns) shape += row.values[name] === undefined ? '-' : '+';
    const group = groups.get(shape);
    if (group) group.push(row);
    else groups.set(shape, [row]);
  }
  const batches: Batch[] = [];
  for (const [shape, group] of groups) {
    const columns = table.columns.filter((_, index) => shape[index] === '+');
    for (let start = 0; start < group.length; start += BATCH)
      batches.push({ columns, rows: group.slice(start, start + BATCH) });
  }
  return batches;
}

export interface BatchColumn extends Column {
  readonly values: readonly (string | null)[];
}

export const keysOf = ({ key }: Table, { rows }: Batch): BatchColumn => ({ ...key, values: rows.map(row => row.key) });

export const hashesOf = ({ rows }: Pick<Batch, 'rows'>): BatchColumn => ({
  name: '_hash',
  type: 'bytea',
  values: rows.map(row => `\\x${row.hash}`),
});

/** Whether a column is what the source says of a row. */
export const isContent = ({ key }: Table, name: string): boolean => name !== '_read_at' && name !== key.name;

export function columnsOf(table: Table, { columns, rows }: Batch): BatchColumn[] {
  const data: BatchColumn[] = columns.map(column => ({
    ...column,
    values: rows.map(row => row.values[column.name] ?? null),
  }));
  if (!columns.some(column => column.name === table.key.name)) data.push(keysOf(table, { columns, rows }));
  data.push({ name: '_extra', type: 'jsonb', values: rows.map(row => row.extra) });
  if (table.hashed) data.push(hashesOf({ rows }));
  data.push({ name: '_read_at', type: 'timestamptz', values: rows.map(row => row.readAt) });
  return data;
}

/** The columns as rows `i`. */
export const unnested = (columns: readonly BatchColumn[]): RawBuilder<unknown> =>
  sql`unnest(${sql.join(columns.map(({ type, values }) => arrayOf(type, values)))})
    as i(${sql.join(columns.map(({ name }) => sql.id(name)))})`;

/** The stored row `t` with the key of the row `of`, through the index whatever the planner thinks of its size. */
export const stored = ({ schema, name, key }: Table, of: string): RawBuilder<unknown> =>
  sql`lateral (select * from ${sql.id(schema, name)} s where s.${sql.id(key.name)} = ${sql.ref(`${of}.${key.name}`)} offset 0) t`;

export const refs = (alias: string, columns: readonly string[]): RawBuilder<unknown> =>
  sql.join(columns.map(name => sql.ref(`${alias}.${name}`)));

/** The columns as far as they tell whether a row has changed: without the unknown fields that are volatile. */
export const steady = (
  alias: string,
  columns: readonly string[],
  volatile: readonly string[] = [],
): RawBuilder<unknown> =>
  volatile.length === 0 || !columns.includes('_extra')
    ? refs(alias, columns)
    : sql.join(
        columns.map(name =>
          name === '_extra'
            ? sql`nullif(${sql.ref(`${alias}._extra`)} - ${arrayOf('text', volatile)}, '{}'::jsonb)`
            : sql.ref(`${alias}.${name}`),
        ),
      );

/** A column that is left out where it is false for all rows, as it nearly always is. */
export function flagged({ rows }: Batch, name: string, holds: (row: Row) => boolean): BatchColumn[] {
  const values = rows.map(row => String(holds(row)));
  return values.includes('true') ? [{ name, type: 'boolean', values }] : [];
}
