import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openSandbox } from '../../sandbox/sandbox.ts';
import { writeComments } from '../../src/warehouse/database/comments.ts';
import type { Database } from '../../src/warehouse/database/database.ts';
import { MIGRATIONS, withDatabase } from '../support/database.ts';
import { openEngine, serveOrders } from '../support/source.ts';

// WRITE_DOCS=1 npx vitest run test/docs/tables.test.ts && npm run format
const file = new URL('../../docs/tables.md', import.meta.url);
const text = readFileSync(file, 'utf8');
const queries = [...text.matchAll(/```sql\n([\s\S]*?)```/g)].map(match => match[1] as string);

type Described = {
  readonly table: string;
  readonly kind: 'table' | 'view';
  readonly comment: string | null;
  readonly columns: readonly { name: string; comment: string | null }[];
};

async function describedIn(database: Database): Promise<Described[]> {
  await writeComments(database, ['warehouse'], MIGRATIONS.lists);
  const { rows } = await database.query<Described>(
    `select n.nspname || '.' || c.relname as table, case c.relkind when 'v' then 'view' else 'table' end as kind,
      obj_description(c.oid, 'pg_class') as comment,
      jsonb_agg(jsonb_build_object('name', a.attname, 'comment', col_description(c.oid, a.attnum)) order by a.attnum) as columns
    from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
    where n.nspname in ('warehouse', 'sluice') and c.relkind in ('r', 'p', 'v') and a.attnum > 0 and not a.attisdropped
    group by 1, 2, c.oid order by 1`,
  );
  return rows;
}

const cell = (comment: string | null): string => (comment ?? '').replaceAll('|', '\\|').replace(/\.$/, '');

const rowsOf = (head: string, rows: readonly (readonly string[])[]): string =>
  [`| ${head} |`, `| ${head.replace(/[^|]+/g, ' --- ')} |`, ...rows.map(row => `| ${row.join(' | ')} |`)].join('\n');

/** The document with its tables as the comments of the database say. Its prose and its order stay. */
function rendered(described: readonly Described[]): string {
  return text
    .split(/^(?=##+ )/m)
    .map(section => {
      const heading = section.split('\n', 1)[0] ?? '';
      const of = described.find(({ table }) => heading.includes(`\`${table}\``));
      const table = of
        ? rowsOf(
            'column | meaning',
            of.columns.map(({ name, comment }) => [`\`${name}\``, cell(comment)]),
          )
        : heading === '### The views'
          ? rowsOf(
              'view | what it shows | columns',
              described
                .filter(({ kind, table }) => kind === 'view' && !table.endsWith('_history'))
                .map(({ table, comment, columns }) => [
                  `\`${table.slice('warehouse.'.length)}\``,
                  cell(comment),
                  columns.map(({ name }) => `\`${name}\``).join(', '),
                ]),
            )
          : null;
      return table === null ? section : section.replace(/^\|.*(?:\n\|.*)*/m, () => table);
    })
    .join('');
}

/** Without the blanks that align the columns. */
const compact = (document: string): string =>
  document.replace(/^\|.*$/gm, line => line.replace(/ +\|/g, ' |').replace(/\| +/g, '| ').replace(/-+/g, '-'));

test('docs/tables.md names every table, view and column, with the comments of the database', async () => {
  await withDatabase(async database => {
    const described = await describedIn(database);
    const document = rendered(described);
    if (process.env.WRITE_DOCS) writeFileSync(file, document);
    expect(compact(document)).toBe(compact(text));
    const named = [...text.matchAll(/^### (.*)$/gm)].flatMap(
      match => (match[1] as string).match(/[a-z]+\.[a-z_]+/g) ?? [],
    );
    const tables = described.filter(({ kind }) => kind === 'table').map(({ table }) => table);
    expect([...named].sort()).toEqual(tables);
  });
});

test('the diagram shows tables and columns that exist', async () => {
  await withDatabase(async database => {
    const described = await describedIn(database);
    const columnsOf = (table: string) => described.find(each => each.table === `warehouse.${table}`)?.columns ?? [];
    const diagram = /```mermaid\n([\s\S]*?)```/.exec(text)?.[1] ?? '';
    const links = [...diagram.matchAll(/^ +(\w+) \S+ (\w+) : "(\w+)"$/gm)];
    expect(links.length).toBeGreaterThan(4);
    for (const [, one = '', many = '', column] of links) {
      expect(columnsOf(one).length, one).toBeGreaterThan(0);
      expect(columnsOf(many).map(({ name }) => name)).toContain(column);
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
