import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { relationsOf, renderRelations, renderWarehouse } from '../../public-types/render-warehouse.ts';
import { TYPES_HEAD, type TypedRelation } from '../../src/cli/output/warehouse-types.ts';
import { writeComments } from '../../src/warehouse/database/comments.ts';
import type { Database } from '../../src/warehouse/database/database.ts';
import { describeRelations, type Relation } from '../../src/warehouse/reports/data-tables.ts';
import { MIGRATIONS, withDatabase } from '../support/database.ts';

// WRITE_DOCS=1 npx vitest run test/public-types && npm run format
const file = new URL('../../public-types/beside-jobs.d.ts', import.meta.url);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const { lists } = MIGRATIONS;

/** The tables and views as the database has them. */
async function relationsIn(database: Database): Promise<Relation[]> {
  await writeComments(database, ['warehouse'], lists);
  const found = await describeRelations(database.kysely, 'warehouse');
  return found.sort((one, other) => (one.name < other.name ? -1 : 1));
}

const HEAD = `${TYPES_HEAD}
// First those that no job declares, written from the database by test/public-types/warehouse-types.test.ts.
`;

/** Without line ends and blanks, which the formatter decides. */
const compact = (code: string): string => code.replaceAll(/\s+/g, ' ').trim();

/** Columns that were added later stand elsewhere. */
const byName = (relations: readonly TypedRelation[]) =>
  relations.map(({ name, comment, columns }) => ({
    name,
    comment,
    columns: columns
      .map(({ name, type, required, comment }) => ({ name, type, required, comment }))
      .sort((one, other) => (one.name < other.name ? -1 : 1)),
  }));

test('the public types are those of the database', async () => {
  await withDatabase(async database => {
    const found = await relationsIn(database);
    const declared = relationsOf(lists);
    const isDeclared = ({ name }: TypedRelation) => declared.some(each => each.name === name);
    expect(byName(declared)).toEqual(byName(found.filter(isDeclared)));
    const rendered = `${HEAD}\n${renderRelations(found.filter(each => !isDeclared(each)))}`;
    if (process.env.WRITE_DOCS) writeFileSync(file, rendered);
    expect(compact(readFileSync(file, 'utf8'))).toBe(compact(rendered));
  });
});

const MODULE = './warehouse.d.ts';
const PROGRAM = `
import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import type { Customers, Warehouse } from '${MODULE}';

export async function owed(connectionString: string) {
  const warehouse = new Kysely<Warehouse>({
    dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString, max: 1 }) }),
  }).withSchema('warehouse');
  const rows = await warehouse
    .selectFrom('open_invoices as o')
    .innerJoin('customers as c', 'c.id', 'o.customer_id')
    .select(['c.account', 'o.id', 'o.amount', 'o.days_overdue', sql<string>\`o.due_date::text\`.as('due')])
    .execute();
  await warehouse.destroy();
  const id: Customers['id'] | undefined = rows[0]?.id ?? undefined;
  // @ts-expect-error: there is no such column
  warehouse.selectFrom('invoices').select('absent');
  // @ts-expect-error: an exact number is text
  const amount: number | undefined = rows[0]?.amount;
  return { rows, id, amount };
}
`;

test('a program queries the warehouse with them', async () => {
  const cache = join(ROOT, 'node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'types-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'warehouse.d.ts'), renderWarehouse(lists));
  writeFileSync(join(folder, 'program.mts'), PROGRAM);
  const compiler = join(ROOT, 'node_modules/.bin/tsc');
  const options = '--ignoreConfig --module nodenext --target es2023 --strict --skipLibCheck --types node'.split(' ');
  execFileSync(compiler, ['program.mts', ...options], { cwd: folder });
  const { owed } = (await import(join(folder, 'program.mjs'))) as { owed: (url: string) => Promise<unknown> };
  await withDatabase(async (database, { url }) => {
    await database.query(
      `insert into warehouse.customers (id, account, _synced_at, _read_at) values (17, 'Zoë', now(), now());
      insert into warehouse.invoices (id, customer_id, amount, status, date, due_date, _synced_at, _read_at)
        values (9007199254740993, 17, 12345678901234567.89, 'Unpaid', '2026-01-15', current_date - 10, now(), now())`,
    );
    const amount = '12345678901234567.89';
    expect(await owed(url)).toMatchObject({
      rows: [{ account: 'Zoë', id: '9007199254740993', amount, days_overdue: 10 }],
      amount,
    });
  });
});
