import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sluice.declared_fields
    add column if not exists declared_at timestamptz not null default '-infinity'`.execute(db);
  await sql`comment on column sluice.declared_fields.declared_at is
    'Since when it has this type. What was stored before may be written otherwise than the source writes it.'`.execute(
    db,
  );
}
