import { readFileSync } from 'node:fs';
import { childComment, historyComment, VERSION_COMMENTS } from '../migrations/create-history-view.ts';
import { type Declared, type DeclaredTable, historyViewOf } from '../src/warehouse/database/declared-table.ts';

/** The module `sluice/warehouse`: the tables and views that no job declares, then those that follow from the jobs. */
export const renderWarehouse = (lists: readonly DeclaredTable[]): string =>
  `${readFileSync(new URL('beside-jobs.d.ts', import.meta.url), 'utf8')}\n${renderRelations(relationsOf(lists))}`;

/** A table or view of the warehouse. */
export interface Relation {
  readonly name: string;
  readonly comment: string;
  readonly columns: readonly Column[];
}

type Column = Omit<Declared['columns'][number], 'read'>;

/** What `pg` makes of a value, unless its parsers are replaced. */
const TYPES: Readonly<Record<string, string>> = {
  bigint: 'string',
  numeric: 'string',
  text: 'string',
  integer: 'number',
  boolean: 'boolean',
  date: 'Date',
  'timestamp with time zone': 'Date',
  interval: 'Interval',
  jsonb: 'unknown',
  bytea: 'Buffer',
};

/** The tables of the lists, those of their children, and their history views. */
export function relationsOf(lists: readonly DeclaredTable[]): Relation[] {
  const relations = lists.flatMap(list => [list, historyView(list), ...list.children]);
  return relations.sort((one, other) => (one.name < other.name ? -1 : 1));
}

function historyView({ name, columns, children }: DeclaredTable): Relation {
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

/** Their types, and the part of `Warehouse` that names them: TypeScript merges the parts. */
export function renderRelations(relations: readonly Relation[]): string {
  const names = relations.map(({ name }) => `  ${name}: ${typeNameOf(name)};\n`).join('');
  const interfaces = relations.map(
    ({ name, comment, columns }) =>
      `/** ${comment} */\nexport interface ${typeNameOf(name)} {\n${columns.map(column => renderColumn(name, column)).join('')}}\n`,
  );
  return [
    `/** For Kysely: \`new Kysely<Warehouse>({ .. }).withSchema('warehouse')\`. */\nexport interface Warehouse {\n${names}}\n`,
    ...interfaces,
  ].join('\n');
}

function renderColumn(table: string, { name, type, required, comment }: Column): string {
  const shown = TYPES[type];
  if (shown === undefined) throw new Error(`${table}.${name} has a type that is not known here: ${type}`);
  return `  /** ${comment} */\n  readonly ${name}: ${shown}${required || shown === 'unknown' ? '' : ' | null'};\n`;
}

const typeNameOf = (table: string): string =>
  table.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
