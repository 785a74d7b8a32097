import type { Database } from '../../../src/warehouse/database/database.ts';

/** What the tables say of a row that is stored but not at the source, or the other way round: a failure that comes once has to explain itself. */
export async function evidenceOf(database: Database, difference: string): Promise<string> {
  const [resource = '', key = ''] = difference.split(' ');
  const facts = {
    row: `select to_jsonb(t) from warehouse.${resource} t where to_jsonb(t) ->> 'id' = $2 and $1 <> ''`,
    missing: 'select to_jsonb(m) from sluice.missing m where resource = $1 and key = $2',
    coverage: `select to_jsonb(c) - 'source' - 'resource' from sluice.coverage c where resource = $1 and $2 <> ''
      and (proven_at is null or due_since is not null or slice in ('whole', 'newest')) order by slice`,
    runs: `select to_jsonb(r) from sluice.runs r where resource = $1 and $2 <> '' order by started_at desc limit 3`,
    traits: `select to_jsonb(s) from sluice.traits s where resource = $1 and $2 <> ''`,
  };
  const lines: string[] = [];
  for (const [name, sql] of Object.entries(facts)) {
    const found = await database.query(sql, [resource, key]).catch((error: Error) => ({ rows: [error.message] }));
    lines.push(`  ${name}:`, ...found.rows.map(row => `    ${JSON.stringify(row)}`));
  }
  return lines.join('\n');
}
