import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { writeComments } from '../../src/warehouse/database/comments.ts';
import type { Database } from '../../src/warehouse/database/database.ts';
import { MIGRATIONS, withDatabase } from '../support/database.ts';

// WRITE_DOCS=1 npx vitest run test/docs/tables.test.ts
const file = new URL('../../docs/tables.md', import.meta.url);
const text = readFileSync(file, 'utf8');

type Described = {
  readonly table: string;
  readonly kind: 'table' | 'view';
  readonly comment: string | null;
  readonly columns: readonly { name: string; type: string; comment: string | null }[];
};

async function describedIn(database: Database): Promise<Described[]> {
  await writeComments(database, ['warehouse'], MIGRATIONS.lists);
  const { rows } = await database.query<Described>(
    `select n.nspname || '.' || c.relname as table, case c.relkind when 'v' then 'view' else 'table' end as kind,
      obj_description(c.oid, 'pg_class') as comment,
      jsonb_agg(jsonb_build_object('name', a.attname, 'comment', col_description(c.oid, a.attnum),
        'type', replace(format_type(a.atttypid, a.atttypmod), 'timestamp with time zone', 'timestamptz')) order by a.attnum) as columns
    from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
    where n.nspname in ('warehouse', 'sluice') and c.relkind in ('r', 'p', 'v') and a.attnum > 0 and not a.attisdropped
    group by 1, 2, c.oid order by 1`,
  );
  return rows;
}

const sentence = (comment: string | null): string => (comment ?? '').replace(/\.$/, '');

function tableOf([head, ...rows]: readonly [readonly string[], ...(readonly string[])[]]): string {
  const widths = head.map((_, at) => Math.max(...[head, ...rows].map(row => row[at]?.length ?? 0)));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  return [line(head), line(widths.map(width => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

const BLOCK = /^```text\n([\s\S]*?)^```$/m;

/** Name, type and comment of each column. A column that the block lists without a meaning keeps none. */
function blockOf({ columns }: Described, block: string): string {
  const bare = block
    .split('\n')
    .map(line => line.split(/ {2,}/))
    .filter(cells => cells.length === 2)
    .map(([name]) => name);
  const widest = (of: 'name' | 'type') => Math.max(...columns.map(column => column[of].length)) + 2;
  const lines = columns.map(({ name, type, comment }) => {
    const meaning = bare.includes(name) ? '' : sentence(comment);
    return `${name.padEnd(widest('name'))}${type.padEnd(widest('type'))}${meaning}`.trimEnd();
  });
  return ['```text', ...lines, '```'].join('\n');
}

/** The document with its tables as the database says. Its prose and its order stay. */
function rendered(described: readonly Described[]): string {
  return text
    .split(/^(?=##+ )/m)
    .map(section => {
      const heading = section.split('\n', 1)[0] ?? '';
      const of = described.find(({ table }) => heading.includes(`\`${table}\``));
      if (of) return section.replace(BLOCK, (_, block: string) => blockOf(of, block));
      if (heading !== '### The views') return section;
      const views = described
        .filter(({ kind, table }) => kind === 'view' && !table.endsWith('_history'))
        .map(({ table, comment, columns }) => [
          `\`${table.slice('warehouse.'.length)}\``,
          sentence(comment).replaceAll('|', '\\|'),
          columns.map(({ name }) => `\`${name}\``).join(', '),
        ]);
      return section.replace(/^\|.*(?:\n\|.*)*/m, () => tableOf([['view', 'what it shows', 'columns'], ...views]));
    })
    .join('');
}

test('docs/tables.md names every table, view and column, with the types and comments of the database', async () => {
  await withDatabase(async database => {
    const described = await describedIn(database);
    const document = rendered(described);
    if (process.env.WRITE_DOCS) writeFileSync(file, document);
    expect(document).toBe(text);
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
