import { type Kysely, sql } from 'kysely';

const COMMENTS = {
  month: 'Closed month.',
  resource: 'List.',
  key: 'Primary key of the row.',
  kind: 'added, changed or deleted.',
  before: 'The row as it was; of a changed one, the fields that differ.',
  after: 'The row as it is now; of a changed one, the fields that differ.',
  sealed_at: 'When the month was closed.',
  seen_at: 'When the row last changed here; null for a deleted one.',
} as const;

export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ schema: string }>`select current_schema() as schema`.execute(db);
  await sql`create or replace view restatements as
    select ${sql.join(Object.keys(COMMENTS).map(column => sql.id(column)))}
    from sluice.restated_rows() where schema = ${sql.lit(rows[0]?.schema)}`.execute(db);
  await sql`comment on view restatements is 'What changed in closed months since they were closed: docs/history.md'`.execute(
    db,
  );
  for (const [column, text] of Object.entries(COMMENTS))
    await sql`comment on column restatements.${sql.id(column)} is ${sql.lit(text)}`.execute(db);
}
