import { type RawBuilder, sql } from 'kysely';
import { isEmpty } from '../../../engine/deletion/loss-limit.ts';
import type { Table } from '../tables.ts';
import type { Batch } from './row-batches.ts';

/** A field that some rows of a batch leave empty. */
interface Emptied {
  readonly field: string;
  /** Whether the given row `c` leaves it empty although the stored row `t` holds something there. */
  readonly loses: RawBuilder<boolean>;
}

/** A column that says which rows have no child rows of a field. */
export const lacksChildren = (field: string): string => `_no_${field}`;

/** What rows of a batch would empty: `loses` is to be asked of the given row `c`, which may have `lacksChildren`, and the stored row `t`. */
export function emptiedFields(table: Table, { columns, rows }: Batch): Emptied[] {
  const ofColumns = columns
    .filter(({ name }) => rows.some(row => isEmpty(row.values[name])))
    .map(({ name }) => ({
      field: name,
      // What the column cannot hold came all the same, and is kept in _extra.
      loses: sql<boolean>`(coalesce(${sql.ref(`c.${name}`)}::text, '') = '' and coalesce(${sql.ref(`t.${name}`)}::text, '') <> ''
        and not coalesce(c._extra ? ${sql.lit(name)}, false))`,
    }));
  const ofChildren = table.children
    .filter(({ field }) => rows.some(row => row.children[field]?.length === 0))
    .map(child => ({
      field: child.field,
      loses: sql<boolean>`(${sql.ref(`c.${lacksChildren(child.field)}`)} and exists (select from ${sql.id(table.schema, child.name)} l
        where l.${sql.id(child.parent)} = t.${sql.id(table.key.name)}))`,
    }));
  return [...ofColumns, ...ofChildren];
}
