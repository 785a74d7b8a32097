import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { writeComments } from '../src/warehouse/database/comments.ts';
import type { Database } from '../src/warehouse/database/database.ts';
import { MIGRATIONS, withDatabase } from './support/database.ts';
import { JOBS } from './support/resources.ts';

// WRITE_DOCS=1 npx vitest run test/dbt.test.ts
const file = new URL('../deploy/dbt/sources.yml', import.meta.url);

const HEAD = `# The warehouse as sources of dbt 1.10 or newer: copy this file into models/. {{ source('sluice', 'invoices') }} is warehouse.invoices.
# "dbt source freshness" tells as of when each list is proven equal to the source. Relationships warn only: the source itself may
# refer to rows that do not exist. Written from the comments of the database by test/dbt.test.ts.
`;

/** Which column of a table names a row of another. */
const REFERENCES: Readonly<Record<string, Readonly<Record<string, { table: string; field: string }>>>> = {
  invoices: { customer_id: { table: 'customers', field: 'id' } },
  quotes: { customer_id: { table: 'customers', field: 'id' } },
  tickets: { customer_id: { table: 'customers', field: 'id' } },
  invoice_items: { invoice_id: { table: 'invoices', field: 'id' } },
  quote_items: { quote_key: { table: 'quotes', field: '_key' } },
};

async function render(database: Database): Promise<string> {
  await writeComments(database, ['warehouse'], MIGRATIONS.lists);
  const { rows } = await database.query<{
    table: string;
    kind: string;
    comment: string;
    columns: { name: string; comment: string; isKey: boolean }[];
  }>(
    `select c.relname as table, c.relkind as kind, obj_description(c.oid, 'pg_class') as comment, jsonb_agg(jsonb_build_object('name', a.attname,
      'comment', col_description(c.oid, a.attnum), 'isKey', coalesce(i.indnkeyatts = 1 and a.attnum = any(i.indkey), false)) order by a.attnum) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid left join pg_index i on i.indrelid = c.oid and i.indisprimary
    where c.relnamespace = 'warehouse'::regnamespace and c.relkind in ('r', 'v') and a.attnum > 0 and not a.attisdropped
      and c.relname !~ '_history$' group by c.oid order by c.relkind, 1`,
  );
  const tables = rows.map(({ table, comment, columns }) => ({
    name: table,
    description: comment,
    ...(table in JOBS && {
      config: { loaded_at_query: `select equal_as_of from warehouse.freshness where resource = '${table}'` },
    }),
    columns: columns.map(column => {
      const reference = REFERENCES[table]?.[column.name];
      const tests = [
        ...(column.isKey ? ['unique', 'not_null'] : []),
        ...(reference
          ? [
              {
                relationships: {
                  arguments: { to: `source('sluice', '${reference.table}')`, field: reference.field },
                  config: { severity: 'warn' },
                },
              },
            ]
          : []),
      ];
      return { name: column.name, description: column.comment, ...(tests.length > 0 && { data_tests: tests }) };
    }),
  }));
  const freshness = { warn_after: { count: 6, period: 'hour' }, error_after: { count: 24, period: 'hour' } };
  const listed = tables.map(table =>
    'config' in table ? { ...table, config: { freshness, ...table.config } } : table,
  );
  return `${HEAD}${stringify(
    {
      version: 2,
      sources: [
        { name: 'sluice', schema: 'warehouse', description: 'Kept equal to the source by Sluice.', tables: listed },
      ],
    },
    { lineWidth: 0, aliasDuplicateObjects: false },
  )}`;
}

test('deploy/dbt/sources.yml describes the tables and views of the database', async () => {
  await withDatabase(async database => {
    const rendered = await render(database);
    if (process.env.WRITE_DOCS) writeFileSync(file, rendered);
    const text = readFileSync(file, 'utf8');
    expect(text).toBe(rendered);
    const { sources } = parse(text) as {
      sources: { tables: { name: string; config?: { loaded_at_query: string } }[] }[];
    };
    const queries = sources.flatMap(({ tables }) => tables.flatMap(({ config }) => config?.loaded_at_query ?? []));
    expect(queries).toHaveLength(Object.keys(JOBS).length);
    for (const query of queries) await database.query(query);
  });
});
