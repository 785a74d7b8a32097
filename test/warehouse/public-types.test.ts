import { readFileSync, writeFileSync } from 'node:fs';
import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import { expect, test } from 'vitest';
import { writeComments } from '../../src/warehouse/database/comments.ts';
import type { Database } from '../../src/warehouse/database/database.ts';
import type { Warehouse } from '../../src/warehouse/public/warehouse-types.ts';
import { MIGRATIONS, withDatabase } from '../support/database.ts';

// WRITE_DOCS=1 npx vitest run test/warehouse/public-types.test.ts && npm run format
const file = new URL('../../src/warehouse/public/warehouse-types.ts', import.meta.url);

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

type Listed = {
  table: string;
  comment: string | null;
  columns: { name: string; type: string; required: boolean; comment: string | null }[];
};

async function render(database: Database): Promise<string> {
  await writeComments(database, ['warehouse'], MIGRATIONS.lists);
  const { rows } = await database.query<Listed>(
    `select c.relname as table, obj_description(c.oid, 'pg_class') as comment, jsonb_agg(jsonb_build_object('name', a.attname,
      'type', format_type(a.atttypid, a.atttypmod), 'required', a.attnotnull, 'comment', col_description(c.oid, a.attnum)) order by a.attnum) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = 'warehouse'::regnamespace and c.relkind in ('r', 'p', 'v') and a.attnum > 0 and not a.attisdropped
    group by c.oid order by 1`,
  );
  const nameOf = (table: string) => table.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const comment = (text: string | null, indent = '') => (text === null ? '' : `${indent}/** ${text} */\n`);
  const interfaces = rows.map(
    ({ table, comment: text, columns }) =>
      `${comment(text)}export interface ${nameOf(table)} {\n${columns
        .map(({ name, type, required, comment: of }) => {
          const shown = TYPES[type];
          if (shown === undefined) throw new Error(`${table}.${name} has a type that is not known here: ${type}`);
          return `${comment(of, '  ')}  readonly ${name}: ${shown}${required || shown === 'unknown' ? '' : ' | null'};\n`;
        })
        .join('')}}\n`,
  );
  return `/**
 * The tables and views of the warehouse as \`pg\` reads them: \`bigint\` and \`numeric\` are text, so that no digit is lost.
 * Written from the database by test/warehouse/public-types.test.ts.
 */

/** For Kysely: \`new Kysely<Warehouse>({ .. }).withSchema('warehouse')\`. */
export interface Warehouse {
${rows.map(({ table }) => `  ${table}: ${nameOf(table)};\n`).join('')}}

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

${interfaces.join('\n')}`;
}

/** Without line ends and blanks, which the formatter decides. */
const compact = (code: string): string => code.replaceAll(/\s+/g, ' ');

test('the public types are those of the database', async () => {
  await withDatabase(async database => {
    const rendered = await render(database);
    if (process.env.WRITE_DOCS) writeFileSync(file, rendered);
    expect(compact(readFileSync(file, 'utf8'))).toBe(compact(rendered));
  });
});

test('a program queries the warehouse with them', async () => {
  await withDatabase(async (database, { url }) => {
    await database.query(
      `insert into warehouse.customers (id, account, _synced_at, _read_at) values (17, 'Zoë', now(), now());
      insert into warehouse.invoices (id, customer_id, amount, status, date, due_date, _synced_at, _read_at)
        values (9007199254740993, 17, 12345678901234567.89, 'Unpaid', '2026-01-15', current_date - 10, now(), now())`,
    );
    const warehouse = new Kysely<Warehouse>({
      dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: url, max: 1 }) }),
    }).withSchema('warehouse');
    const owed = await warehouse
      .selectFrom('open_invoices as o')
      .innerJoin('customers as c', 'c.id', 'o.customer_id')
      .select(['c.account', 'o.id', 'o.amount', 'o.days_overdue', sql<string>`o.due_date::text`.as('due')])
      .execute();
    await warehouse.destroy();
    expect(owed).toMatchObject([
      { account: 'Zoë', id: '9007199254740993', amount: '12345678901234567.89', days_overdue: 10 },
    ]);
  });
});
