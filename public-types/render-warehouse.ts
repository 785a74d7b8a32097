import { readFileSync } from 'node:fs';
import { childComment, historyComment, VERSION_COMMENTS } from '../migrations/create-history-view.ts';
import { isKnownType, type TypedRelation, warehouseTypes } from '../src/cli/output/warehouse-types.ts';
import { type DeclaredTable, historyViewOf } from '../src/warehouse/database/declared-table.ts';

/** The module `sluice/warehouse`: the tables and views that no job declares, then those that follow from the jobs. */
export const renderWarehouse = (lists: readonly DeclaredTable[]): string =>
  `${readFileSync(new URL('beside-jobs.d.ts', import.meta.url), 'utf8')}\n${renderRelations(relationsOf(lists))}`;

/** Their types. Throws on one of a type that is not known: Sluice creates no such column. */
export function renderRelations(relations: readonly TypedRelation[]): string {
  for (const { name, columns } of relations)
    for (const column of columns)
      if (!isKnownType(column.type))
        throw new Error(`${name}.${column.name} has a type that is not known here: ${column.type}`);
  return warehouseTypes(relations, 'warehouse');
}

/** The tables of the lists, those of their children, and their history views. */
export function relationsOf(lists: readonly DeclaredTable[]): TypedRelation[] {
  const relations = lists.flatMap(list => [list, historyView(list), ...list.children]);
  return relations.sort((one, other) => (one.name < other.name ? -1 : 1));
}

function historyView({ name, columns, children }: DeclaredTable): TypedRelation {
  const moment = 'timestamp with time zone';
  return {
    name: historyViewOf(name),
    comment: historyComment(name),
    columns: [
      ...columns.filter(column => column.name !== '_hash'),
      ...children.map(child => ({ name: child.field, type: 'jsonb', comment: childComment(child.name) })),
      { name: 'valid_from', type: moment, comment: VERSION_COMMENTS.valid_from },
      { name: 'valid_to', type: moment, comment: VERSION_COMMENTS.valid_to },
      { name: 'ended_by', type: 'text', comment: VERSION_COMMENTS.ended_by },
    ].map(column => ({ ...column, required: false })),
  };
}
