import type { Database } from '../../../src/warehouse/database/database.ts';

/** What the tables say of a row that is stored but not at the source, or the other way round: a failure that comes once has to explain itself. */
export async function evidenceOf(database: Database, difference: string): Promise<string> {
  const [resource = '', key = ''] = difference.split(' ');
  const facts: readonly (readonly [name: string, sql: string, ...values: string[]])[] = [
    ['row', `select to_jsonb(t) from warehouse.${resource} t where to_jsonb(t) ->> 'id' = $1`, key],
    ['missing', 'select to_jsonb(m) from sluice.missing m where resource = $1 and key = $2', resource, key],
    [
      'coverage',
      `select to_jsonb(c) - 'source' - 'resource' from sluice.coverage c where resource = $1
        and (proven_at is null or due_since is not null or slice in ('whole', 'newest')) order by slice`,
      resource,
    ],
    ['runs', 'select to_jsonb(r) from sluice.runs r where resource = $1 order by started_at desc limit 3', resource],
    ['traits', 'select to_jsonb(s) from sluice.traits s where resource = $1', resource],
  ];
  const lines: string[] = [];
  for (const [name, sql, ...values] of facts) {
    const found = await database.query(sql, values).catch((error: Error) => ({ rows: [error.message] }));
    lines.push(`  ${name}:`, ...found.rows.map(row => `    ${JSON.stringify(row)}`));
  }
  return lines.join('\n');
}
