import { sql } from 'kysely';
import { SluiceError } from '../../errors.ts';
import { MIGRATE } from '../../next-steps.ts';
import type { Db } from '../database/database.ts';

export interface Column {
  readonly name: string;
  /** As Postgres writes it in a cast: `bigint`, `numeric`, `timestamp with time zone`. */
  readonly type: string;
}

/** Rows that a parent row carries in `field`; they are replaced together with it. */
export interface ChildTable {
  readonly field: string;
  readonly name: string;
  readonly parent: string;
  readonly columns: readonly Column[];
}

/** A warehouse table as the migrated database has it. */
export interface Table {
  readonly schema: string;
  readonly name: string;
  /** `_key` where rows may be keyed by content, else the record's own key field. */
  readonly key: Column;
  /** The record's own key field, by which `id` slices are cut. */
  readonly id: Column;
  /** The record's columns, in a fixed order. */
  readonly columns: readonly Column[];
  readonly children: readonly ChildTable[];
  readonly hashed: boolean;
  readonly history: boolean;
}

export interface TableDeclaration {
  readonly schema: string;
  readonly name: string;
  readonly keyField: string;
  readonly fields: readonly string[];
  readonly children: readonly { field: string; table: string; parent: string; fields: readonly string[] }[];
  readonly history: boolean;
}

/** Looks up the declared tables and columns. Throws kind `configuration`, naming the migration to write, when one is absent. */
export async function readTable(db: Db, declared: TableDeclaration): Promise<Table> {
  const stored = await readColumns(db, declared.schema, declared.name);
  const pick = (table: string, columns: Map<string, string>, field: string): Column => {
    const type = columns.get(field);
    if (type) return { name: field, type };
    throw new SluiceError('configuration', `Table ${declared.schema}.${table} has no column "${field}".`, {
      next: `Add a file to migrations/warehouse that adds it, then run "${MIGRATE}".`,
    });
  };
  const key = stored.has('_key') ? '_key' : declared.keyField;
  return {
    schema: declared.schema,
    name: declared.name,
    key: pick(declared.name, stored, key),
    id: pick(declared.name, stored, declared.keyField),
    columns: declared.fields.map(field => pick(declared.name, stored, field)),
    children: await Promise.all(
      declared.children.map(async child => {
        const columns = await readColumns(db, declared.schema, child.table);
        pick(child.table, columns, child.parent);
        pick(child.table, columns, 'line');
        return {
          field: child.field,
          name: child.table,
          parent: child.parent,
          columns: child.fields.map(field => pick(child.table, columns, field)),
        };
      }),
    ),
    hashed: stored.has('_hash'),
    history: declared.history,
  };
}

/** A key that a person named, as it is stored. Kind `usage` for one that no row of the table can have. */
export function storedKey({ key: { type }, name }: Table, given: string): string {
  if (type !== 'bigint') return given;
  const key = /^-?\d{1,19}$/.test(given) ? BigInt(given) : null;
  if (key !== null && BigInt.asIntN(64, key) === key) return key.toString();
  throw new SluiceError('usage', `"${given}" is not a key of ${name}.`, {
    next: 'Expected: a whole number, such as 17.',
  });
}

async function readColumns(db: Db, schema: string, table: string): Promise<Map<string, string>> {
  const { rows } = await sql<{ name: string; type: string }>`
    select a.attname as name, format_type(a.atttypid, a.atttypmod) as type
    from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${schema} and c.relname = ${table} and a.attnum > 0 and not a.attisdropped`.execute(db);
  if (rows.length === 0) {
    throw new SluiceError('configuration', `Table ${schema}.${table} does not exist.`, {
      next: `Run "${MIGRATE}"; for a new resource, add a file to migrations/warehouse first.`,
    });
  }
  return new Map(rows.map(row => [row.name, row.type]));
}
