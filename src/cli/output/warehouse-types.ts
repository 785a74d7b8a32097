import type { Relation } from '../../warehouse/reports/data-tables.ts';

export interface TypedRelation extends Pick<Relation, 'name' | 'comment'> {
  readonly columns: readonly Pick<Relation['columns'][number], 'name' | 'type' | 'comment' | 'required'>[];
}

/** What `pg` makes of a value, unless its parsers are replaced. */
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
  jsonb: 'unknown',
  bytea: 'Buffer',
};

const typeOf = (type: string): string | undefined => TYPES[type.replace(/\(.*\)/, '')];

/** Whether it is known what `pg` makes of a column of this type, as `format_type` writes it. */
export const isKnownType = (type: string): boolean => typeOf(type) !== undefined;

/** Begins the module, whose other types use its `Interval`. */
export const TYPES_HEAD = `/**
 * The tables and views of the warehouse as \`pg\` reads them: \`bigint\` and \`numeric\` are text, so that no digit is lost.
 * \`sluice describe --types\` writes those of an installation, with its own fields and lists.
 */

/** As \`pg\` reads an interval; what is zero is left out. */
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
  const shown = typeOf(type) ?? 'unknown';
  const nullable = required || shown === 'unknown' ? '' : ' | null';
  return `${commentOf(comment, '  ')}  readonly ${propertyOf(name)}: ${shown}${nullable};\n`;
}

const commentOf = (comment: string | null, indent = ''): string =>
  comment ? `${indent}/** ${comment.replaceAll('*/', '* /').replaceAll(/\s+/g, ' ')} */\n` : '';

const propertyOf = (name: string): string => (/^[a-z_]\w*$/i.test(name) ? name : JSON.stringify(name));

const typeNameOf = (name: string): string =>
  name.replaceAll(/\W/g, '_').replaceAll(/(?:^|_)([a-z])/gi, (_, letter: string) => letter.toUpperCase());
