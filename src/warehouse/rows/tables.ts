import { SluiceError } from '../../errors.ts';
import type { Declared, DeclaredTable } from '../database/declared-table.ts';

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

/** The table of a list, as statements need it. */
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

/** A declared table in the schema of a source. */
export function tableIn(schema: string, declared: DeclaredTable): Table {
  const {
    name,
    key: [key = ''],
    keyField,
    history,
  } = declared;
  const pick = (wanted: string): Column => {
    const column = declared.columns.find(each => each.name === wanted);
    if (column) return column;
    throw new Error(`${name} declares no column "${wanted}"`);
  };
  return {
    schema,
    name,
    key: pick(key),
    id: pick(keyField),
    columns: fieldsOf(declared),
    children: declared.children.map(child => ({
      field: child.field,
      name: child.name,
      parent: child.parent,
      columns: fieldsOf(child),
    })),
    hashed: declared.children.length > 0,
    history,
  };
}

/** Without the columns of Sluice's own. */
const fieldsOf = ({ columns }: Declared): readonly Column[] => columns.filter(({ read }) => read !== undefined);

/** A key that a person named, as it is stored; null for one that no row of the table can have. */
export function possibleKey({ key: { type } }: Table, given: string): string | null {
  // No text of Postgres holds NUL.
  if (type !== 'bigint') return given.includes('\0') ? null : given;
  const key = /^-?\d{1,19}$/.test(given) ? BigInt(given) : null;
  return key !== null && BigInt.asIntN(64, key) === key ? key.toString() : null;
}

/** The same. Kind `usage` for one that no row of the table can have. */
export function storedKey(table: Table, given: string): string {
  const key = possibleKey(table, given);
  if (key !== null) return key;
  throw new SluiceError('usage', `"${given}" is not a key of ${table.name}.`, {
    next: table.key.type === 'bigint' ? 'Expected: a whole number, such as 17.' : 'Expected: a text without NUL.',
  });
}
