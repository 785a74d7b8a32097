import { sql } from 'kysely';
import type { Db } from '../database/database.ts';

// SQL: the tables are known at run time.

export interface ExtraFields {
  /** Rows of the table. */
  readonly total: number;
  /** The commonest first, with the rows that carry each. */
  readonly fields: readonly { readonly name: string; readonly rows: number }[];
  /** `_extra` of some rows, as JSON. */
  readonly sample: readonly string[];
}

const MOST_FIELDS = 200;
const SAMPLE_ROWS = 1000;

export async function readExtraFields(db: Db, schema: string, table: string): Promise<ExtraFields> {
  const name = sql.id(schema, table);
  const counted = await sql<{ total: number }>`select count(*)::integer as total from ${name}`.execute(db);
  const fields = await sql<ExtraFields['fields'][number]>`
    select k.name, count(*)::integer as rows from ${name} t, jsonb_object_keys(t._extra) k(name) where k.name <> '(cleaned)'
    group by k.name order by rows desc, k.name limit ${MOST_FIELDS}`.execute(db);
  const sample = await sql<{ extra: string }>`
    select _extra::text as extra from ${name} where _extra is not null limit ${SAMPLE_ROWS}`.execute(db);
  return { total: counted.rows[0]?.total ?? 0, fields: fields.rows, sample: sample.rows.map(({ extra }) => extra) };
}

/** Rows in which the column has a value. */
export async function countFilled(db: Db, schema: string, table: string, column: string): Promise<number> {
  const { rows } = await sql<{ filled: number }>`
    select count(${sql.id(column)})::integer as filled from ${sql.id(schema, table)}`.execute(db);
  return rows[0]?.filled ?? 0;
}

/** Values of one field in `_extra`, as JSON. */
export async function readExtraValues(db: Db, schema: string, table: string, field: string): Promise<string[]> {
  const { rows } = await sql<{ value: string }>`
    select (_extra -> ${field})::text as value from ${sql.id(schema, table)}
    where _extra ? ${field} and _extra -> ${field} not in ('null', '""') limit ${SAMPLE_ROWS}`.execute(db);
  return rows.map(({ value }) => value);
}
