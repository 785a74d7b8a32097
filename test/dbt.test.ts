import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { dbtSources } from '../src/cli/output/dbt-sources.ts';
import { writeComments } from '../src/warehouse/database/comments.ts';
import type { Database } from '../src/warehouse/database/database.ts';
import { describeRelations } from '../src/warehouse/reports/data-tables.ts';
import { MIGRATIONS, withDatabase } from './support/database.ts';
import { JOBS } from './support/resources.ts';

// WRITE_DOCS=1 npx vitest run test/dbt.test.ts
const file = new URL('../deploy/dbt/sources.yml', import.meta.url);

async function render(database: Database): Promise<string> {
  await writeComments(database, ['warehouse'], MIGRATIONS.lists);
  const relations = await describeRelations(database.kysely, 'warehouse');
  return dbtSources(relations, { name: 'sluice', schema: 'warehouse', lists: Object.keys(JOBS) });
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
