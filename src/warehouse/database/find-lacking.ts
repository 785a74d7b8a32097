import { type QueryExecutorProvider, sql } from 'kysely';
import { SluiceError } from '../../errors.ts';
import { MIGRATE } from '../../next-steps.ts';
import {
  type Declared,
  type DeclaredColumn,
  type DeclaredMask,
  type DeclaredTable,
  historyViewOf,
} from './declared-table.ts';

/** What a schema lacks of one list that a job declares. */
export interface Lacking {
  readonly list: DeclaredTable;
  /** The tables that lack something: the list's own first, then those of its children. */
  readonly tables: readonly LackingTable[];
  /** The history view is absent or lacks a column. */
  readonly view: boolean;
  /** What is stored of these fields is not masked yet. */
  readonly masks: readonly DeclaredMask[];
  /** Those of which hashes of another key are stored. */
  readonly rekeyed: readonly DeclaredMask[];
  /** Fields that were masked, and are to be stored as they come again. */
  readonly unmasked: readonly DeclaredMask[];
}

export interface LackingTable {
  readonly table: Declared;
  /** The table itself is absent, with all that it has. */
  readonly absent: boolean;
  readonly columns: readonly DeclaredColumn[];
  /** Columns that begin no index yet. */
  readonly indexed: readonly string[];
  /** Fields that a file in `lists/` declared, and declares no more, or with another type: they are put back into `_extra`. */
  readonly undeclared: readonly StoredField[];
}

/** A column or a child table that a file in `lists/` declared. */
export interface StoredField {
  readonly field: string;
  /** Type of the column; `list` for a child table. */
  readonly type: string;
  readonly child_table: string | null;
  readonly parent: string | null;
}

interface Stored {
  readonly name: string;
  readonly columns: ReadonlyMap<string, string>;
  readonly indexed: readonly string[];
  readonly isView: boolean;
  readonly fields: readonly StoredField[];
  /** Of the list, where the table is its own. */
  readonly masks: readonly DeclaredMask[];
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
  const { rows } = await sql<Omit<Stored, 'columns'> & { columns: Record<string, string> | null }>`
    select c.relname as name, c.relkind = 'v' as "isView", (select coalesce(jsonb_agg(d), '[]') from sluice.declared_fields d
        where d.schema = ${schema} and d.table_name = c.relname
          and (d.child_table is null or to_regclass(format('%I.%I', d.schema, d.child_table)) is not null)) as fields,
      (select coalesce(jsonb_agg(jsonb_build_object('field', m.field, 'rule', m.rule, 'keyMark', m.key_mark)), '[]') from sluice.masks m
        where m.schema = ${schema} and m.resource = c.relname) as masks,
      array(select a.attname::text from pg_index i join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0]
        where i.indrelid = c.oid and i.indpred is null) as indexed,
      (select jsonb_object_agg(a.attname, format_type(a.atttypid, a.atttypmod)) from pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${schema} and c.relkind in ('r', 'p', 'v') and c.relname = any(${names})`.execute(db);
  const stored = new Map<string, Stored>(
    rows.map(row => [row.name, { ...row, columns: new Map(Object.entries(row.columns ?? {})) }]),
  );
  return lists.flatMap(list => {
    // They are dropped before they are created anew.
    const dropped = (stored.get(list.name)?.fields ?? [])
      .filter(field => !isDeclared(field, list, list))
      .map(({ child_table }) => child_table);
    const tables = [list, ...list.children]
      .map(table => {
        const found = dropped.includes(table.name) ? undefined : stored.get(table.name);
        return compare(table, found, { schema, list });
      })
      .filter(
        ({ absent, ...lacks }) =>
          absent || [lacks.columns, lacks.indexed, lacks.undeclared].some(each => each.length > 0),
      );
    const shown = stored.get(historyViewOf(list.name))?.columns;
    const fields = list.columns.filter(({ read }) => read).map(({ name }) => name);
    const view = [...fields, ...list.children.map(({ field }) => field)].some(name => !shown?.has(name));
    const known = stored.get(list.name)?.masks ?? [];
    const masks = list.masks.filter(mask => !known.some(each => isSameMask(each, mask)));
    const unmasked = known.filter(({ field }) => list.masks.every(each => each.field !== field));
    const rekeyed = masks.filter(({ field, rule }) =>
      known.some(each => each.field === field && each.rule === rule && rule === 'hash'),
    );
    const isLacking = tables.length > 0 || view || masks.length > 0 || unmasked.length > 0;
    return isLacking ? [{ list, tables, view, masks, rekeyed, unmasked }] : [];
  });
}

const isSameMask = (one: DeclaredMask, other: DeclaredMask): boolean =>
  one.field === other.field && one.rule === other.rule && one.keyMark === other.keyMark;

/**
 * The names of what is lacking: `warehouse/leads`, `warehouse/leads.due_date`, `warehouse/leads(due_date)` for an index, `warehouse/leads_history`;
 * of what is put back: `warehouse/leads.due_date into _extra`; of what is masked: `warehouse/leads.phone erased`, and no longer: `stored again`.
 */
export function namesOf(schema: string, { list, tables, view, masks, unmasked }: Lacking): string[] {
  const names = tables.flatMap(({ table: { name }, absent, columns, indexed, undeclared }) =>
    absent
      ? [name]
      : [
          ...undeclared.map(({ field }) => `${name}.${field} into _extra`),
          ...columns.map(column => `${name}.${column.name}`),
          ...indexed.map(column => `${name}(${column})`),
        ],
  );
  const isNew = tables.some(({ table, absent }) => table === list && absent);
  if (!isNew)
    names.push(...masks.map(({ field, rule }) => `${list.name}.${field} ${rule === 'hash' ? 'hashed' : 'erased'}`));
  names.push(...unmasked.map(({ field }) => `${list.name}.${field} stored again`));
  if (view && names.length === 0) names.push(historyViewOf(list.name));
  return names.map(name => `${schema}/${name}`);
}

interface Place {
  readonly schema: string;
  readonly list: DeclaredTable;
}

function compare(table: Declared, stored: Stored | undefined, place: Place): LackingTable {
  if (!stored) return { table, absent: true, columns: table.columns, indexed: table.indexed, undeclared: [] };
  if (stored.isView)
    throw new SluiceError('configuration', `${place.schema}.${table.name} is a view, so no list can have this name.`, {
      next: `Name the list or its table otherwise in ${place.list.file}.`,
    });
  refuseOtherKey(table, stored, place);
  const undeclared = stored.fields.filter(field => isStored(field, stored) && !isDeclared(field, table, place.list));
  const isGone = (name: string) => undeclared.some(({ field }) => field === name);
  for (const { name, type } of table.columns) {
    const found = stored.columns.get(name);
    if (found !== undefined && found !== type && !isGone(name))
      throw otherType({ table: table.name, name, type, found }, place);
  }
  return {
    table,
    absent: false,
    columns: table.columns.filter(({ name }) => !stored.columns.has(name) || isGone(name)),
    indexed: table.indexed.filter(name => !stored.indexed.includes(name) || isGone(name)),
    undeclared,
  };
}

/** Somebody may have dropped the column since. */
const isStored = ({ field, type, child_table }: StoredField, { columns }: Stored): boolean =>
  child_table !== null || columns.get(field) === type;

const isDeclared = (
  { field, type, child_table, parent }: StoredField,
  table: Declared,
  list: DeclaredTable,
): boolean =>
  child_table === null
    ? table.columns.some(column => column.name === field && column.type === type)
    : list.children.some(child => child.field === field && child.name === child_table && child.parent === parent);

/** A primary key cannot be replaced under the rows that it identifies. */
function refuseOtherKey({ name, key }: Declared, { columns }: Stored, { schema, list }: Place): void {
  const isKeyedByContent = columns.has('_key');
  const absent = key.find(column => !columns.has(column));
  if (absent === undefined && (!isKeyedByContent || key.includes('_key'))) return;
  const found = absent === undefined ? 'the key "_key"' : `no column "${absent}"`;
  throw new SluiceError(
    'configuration',
    `Table ${schema}.${name} has ${found}, but ${list.file} declares the key ${key.map(each => `"${each}"`).join(', ')}.`,
    {
      next: `Declare its key as it is; in ${list.file}, withoutKey: 'content' stands for "_key", 'quarantine' for the field itself.`,
    },
  );
}

function otherType(
  { table, name, type, found }: { table: string; name: string; type: string; found: string },
  { schema, list }: Place,
): SluiceError {
  return new SluiceError(
    'configuration',
    `Column ${schema}.${table}.${name} has the type ${found}, but ${list.file} declares ${type}.`,
    {
      next: `Declare the field as the column is, or change the column: drop the views on it, then alter table ${schema}.${table} alter column ${name} type ${type} using ${name}::${type}. "${MIGRATE}" creates ${historyViewOf(list.name)} again.`,
    },
  );
}
