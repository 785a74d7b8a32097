import type { Relation } from '../../warehouse/reports/data-tables.ts';

export interface TypedRelation extends Pick<Relation, 'name' | 'comment'> {
  readonly columns: readonly Pick<Relation['columns'][number], 'name' | 'type' | 'comment' | 'required'>[];
}

/** What `pg` makes of a value, unless its parsers are replaced. The types of a column that Sluice does not create are `unknown` where they are not here. */
const TYPES: Readonly<Record<string, string>> = {
  bigint: 'string',
  numeric: 'string',
  text: 'string',
  'character varying': 'string',
  uuid: 'string',
  integer: 'number',
  smallint: 'number',
  real: 'number',
  'double precision': 'number',
  boolean: 'boolean',
  date: 'Date',
  'timestamp with time zone': 'Date',
  'timestamp without time zone': 'Date',
  interval: 'Interval',
  bytea: 'Buffer',
};

/** The type of an interval, which the other types use. */
export const INTERVAL_TYPE = `/** As \`pg\` reads an interval; what is zero is left out. */
export interface Interval {
  readonly years?: number;
  readonly months?: number;
  readonly days?: number;
  readonly hours?: number;
  readonly minutes?: number;
  readonly seconds?: number;
  readonly milliseconds?: number;
}
`;

/** TypeScript: an interface for each table and view, and `Warehouse`, which names them all. TypeScript merges several parts of `Warehouse`. */
export function warehouseTypes(relations: readonly TypedRelation[], schema: string): string {
  const names = relations.map(({ name }) => `  ${propertyOf(name)}: ${typeNameOf(name)};\n`).join('');
  const interfaces = relations.map(
    ({ name, comment, columns }) =>
      `${commentOf(comment)}export interface ${typeNameOf(name)} {\n${columns.map(columnType).join('')}}\n`,
  );
  return [
    `/** For Kysely: \`new Kysely<Warehouse>({ .. }).withSchema('${schema}')\`. */\nexport interface Warehouse {\n${names}}\n`,
    ...interfaces,
  ].join('\n');
}

function columnType({ name, type, required, comment }: TypedRelation['columns'][number]): string {
  const shown = TYPES[type.replace(/\(.*\)/, '')] ?? 'unknown';
  const nullable = required || shown === 'unknown' ? '' : ' | null';
  return `${commentOf(comment, '  ')}  readonly ${propertyOf(name)}: ${shown}${nullable};\n`;
}

const commentOf = (comment: string | null, indent = ''): string =>
  comment ? `${indent}/** ${comment.replaceAll('*/', '* /').replaceAll(/\s+/g, ' ')} */\n` : '';

const propertyOf = (name: string): string => (/^[a-z_]\w*$/i.test(name) ? name : JSON.stringify(name));

const typeNameOf = (name: string): string =>
  name.replaceAll(/\W/g, '_').replaceAll(/(?:^|_)([a-z])/gi, (_, letter: string) => letter.toUpperCase());
