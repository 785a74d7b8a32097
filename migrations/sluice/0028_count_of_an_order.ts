import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sluice.orders add column if not exists counted bigint, add column if not exists counted_at timestamptz`.execute(
    db,
  );
  const comments = {
    counted: 'Number of rows that the source counted before they were read.',
    counted_at: 'When it counted them.',
  };
  for (const [column, text] of Object.entries(comments))
    await sql`comment on column sluice.orders.${sql.id(column)} is ${sql.lit(text)}`.execute(db);
}
