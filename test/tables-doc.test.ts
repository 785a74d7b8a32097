import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openSandbox } from '../src/sandbox/sandbox.ts';
import { withDatabase } from './support/database.ts';
import { openEngine, serveOrders } from './support/source.ts';

const text = readFileSync(new URL('../docs/tables.md', import.meta.url), 'utf8');
const queries = [...text.matchAll(/```sql\n([\s\S]*?)```/g)].map(match => match[1] as string);

/** The section under the heading that names the table. */
const sectionOf = (table: string) =>
  text.split(/^(?=##+ )/m).find(section => section.split('\n', 1)[0]?.includes(`\`${table}\``)) ?? '';

test('docs/tables.md describes every existing table and column, and no other', async () => {
  await withDatabase(async database => {
    const { rows } = await database.query<{ table: string; columns: string[] }>(
      `select table_schema || '.' || table_name as table, array_agg(column_name::text order by ordinal_position) as columns
       from information_schema.columns where table_schema in ('warehouse', 'sluice') group by 1 order by 1`,
    );
    expect(rows.length).toBeGreaterThan(10);
    const undescribed = rows.flatMap(({ table, columns }) =>
      columns.filter(column => !sectionOf(table).includes(`\`${column}\``)).map(column => `${table}.${column}`),
    );
    expect(undescribed).toEqual([]);
    const described = [...text.matchAll(/^### (.*)$/gm)].flatMap(
      match => (match[1] as string).match(/[a-z_.]+/g) ?? [],
    );
    expect(described.filter(table => !rows.some(row => row.table === table))).toEqual([]);
    for (const [heading, ...lines] of text
      .split(/^### /m)
      .slice(1)
      .map(section => section.split('\n'))) {
      const named = lines
        .filter(line => line.startsWith('| `'))
        .flatMap(line => line.split('|')[1]?.match(/[a-z_]+/g) ?? []);
      const columns = rows.filter(row => heading?.includes(`\`${row.table}\``)).flatMap(row => row.columns);
      expect(
        named.filter(column => !columns.includes(column)),
        heading,
      ).toEqual([]);
    }
  });
});

test('its queries run and show whether a month is complete', async () => {
  const sandbox = await openSandbox({ size: 'small' });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { resources: ['customers', 'invoices'] });
    const ask = async (query: string) => (await database.query(query)).rows;
    const [month, list] = queries.filter(query => query.includes('as_of')) as [string, string];
    expect(await ask(month)).toEqual([{ complete: null, as_of: null }]);
    await serveOrders(engine, 'sync');
    for (const query of [month, list])
      expect(await ask(query)).toEqual([{ complete: true, as_of: expect.stringMatching(/^20/) as string }]);
    await database.query(
      `update sluice.coverage set proven_at = null where date_from <= '2025-03-15' and date_to >= '2025-03-15'`,
    );
    expect(await ask(month)).toMatchObject([{ complete: false }]);
    expect(await ask(list)).toMatchObject([{ complete: true }]);
    for (const query of queries) await ask(query);
    await engine.close();
  });
  await sandbox.close();
});
