import { type QueryExecutorProvider, sql } from 'kysely';
import { SluiceError } from '../../errors.ts';
import { MIGRATE } from '../../next-steps.ts';
import { type Declared, type DeclaredColumn, type DeclaredTable, historyViewOf } from './declared-table.ts';

/** What a schema lacks of one list that a job declares. */
export interface Lacking {
  readonly list: DeclaredTable;
  /** The tables that lack something: the list's own first, then those of its children. */
  readonly tables: readonly LackingTable[];
  /** The history view is absent or lacks a column. */
  readonly view: boolean;
}

export interface LackingTable {
  readonly table: Declared;
  /** The table itself is absent, with all that it has. */
  readonly absent: boolean;
  readonly columns: readonly DeclaredColumn[];
  /** Columns that begin no index yet. */
  readonly indexed: readonly string[];
}

interface Stored {
  readonly name: string;
  /** Types by name. */
  readonly columns: ReadonlyMap<string, string>;
  readonly indexed: readonly string[];
}

/**
 * What the schema lacks of the declared tables, list by list. Columns and tables that no job declares are left alone. Throws kind
 * `configuration` for a table that contradicts its job. Takes one statement. SQL: the catalog.
 */
export async function findLacking(
  db: QueryExecutorProvider,
  schema: string,
  lists: readonly DeclaredTable[],
): Promise<Lacking[]> {
  if (lists.length === 0) return [];
  const names = lists.flatMap(({ name, children }) => [name, historyViewOf(name), ...children.map(each => each.name)]);
  const { rows } = await sql<{ name: string; columns: Record<string, string> | null; indexed: string[] }>`
    select c.relname as name, array(select a.attname::text from pg_index i join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0]
        where i.indrelid = c.oid and i.indpred is null) as indexed,
      (select jsonb_object_agg(a.attname, format_type(a.atttypid, a.atttypmod)) from pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${schema} and c.relkind in ('r', 'p', 'v') and c.relname = any(${names})`.execute(db);
  const stored = new Map<string, Stored>(
    rows.map(row => [row.name, { ...row, columns: new Map(Object.entries(row.columns ?? {})) }]),
  );
  return lists.flatMap(list => {
    const tables = [list, ...list.children]
      .map(table => compare(table, stored.get(table.name), { schema, job: list.name }))
      .filter(({ absent, columns, indexed }) => absent || columns.length > 0 || indexed.length > 0);
    const shown = stored.get(historyViewOf(list.name))?.columns;
    const fields = list.columns.filter(({ read }) => read).map(({ name }) => name);
    const view = [...fields, ...list.children.map(({ field }) => field)].some(name => !shown?.has(name));
    return tables.length > 0 || view ? [{ list, tables, view }] : [];
  });
}

/** The names of what is lacking: `warehouse/leads`, `warehouse/leads.due_date`, `warehouse/leads(due_date)` for an index, `warehouse/leads_history`. */
export function namesOf(schema: string, { list, tables, view }: Lacking): string[] {
  const names = tables.flatMap(({ table: { name }, absent, columns, indexed }) =>
    absent
      ? [name]
      : [...columns.map(column => `${name}.${column.name}`), ...indexed.map(column => `${name}(${column})`)],
  );
  if (view && names.length === 0) names.push(historyViewOf(list.name));
  return names.map(name => `${schema}/${name}`);
}

interface Place {
  readonly schema: string;
  readonly job: string;
}

function compare(table: Declared, stored: Stored | undefined, place: Place): LackingTable {
  if (!stored) return { table, absent: true, columns: table.columns, indexed: table.indexed };
  refuseOtherKey(table, stored, place);
  for (const { name, type } of table.columns) {
    const found = stored.columns.get(name);
    if (found !== undefined && found !== type) throw otherType({ table: table.name, name, type, found }, place);
  }
  return {
    table,
    absent: false,
    columns: table.columns.filter(({ name }) => !stored.columns.has(name)),
    indexed: table.indexed.filter(name => !stored.indexed.includes(name)),
  };
}

/** A primary key cannot be replaced under the rows that it identifies. */
function refuseOtherKey({ name, key }: Declared, { columns }: Stored, { schema, job }: Place): void {
  const isKeyedByContent = columns.has('_key');
  const absent = key.find(column => !columns.has(column));
  if (absent === undefined && (!isKeyedByContent || key.includes('_key'))) return;
  const found = absent === undefined ? 'the key "_key"' : `no column "${absent}"`;
  throw new SluiceError(
    'configuration',
    `Table ${schema}.${name} has ${found}, but jobs/${job}.ts declares the key ${key.map(each => `"${each}"`).join(', ')}.`,
    {
      next: `Declare its key as it is; in jobs/${job}.ts, withoutKey: 'content' stands for "_key", 'quarantine' for the field itself.`,
    },
  );
}

function otherType(
  { table, name, type, found }: { table: string; name: string; type: string; found: string },
  { schema, job }: Place,
): SluiceError {
  return new SluiceError(
    'configuration',
    `Column ${schema}.${table}.${name} has the type ${found}, but jobs/${job}.ts declares ${type}.`,
    {
      next: `Declare the field as the column is, or change the column: drop the views on it, then alter table ${schema}.${table} alter column ${name} type ${type} using ${name}::${type}. "${MIGRATE}" creates ${historyViewOf(job)} again.`,
    },
  );
}
