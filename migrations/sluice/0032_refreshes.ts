import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sluice.orders add column if not exists targets text[] not null default '{}',
    drop constraint if exists orders_kind_check,
    add constraint orders_kind_check check (kind in ('sync', 'backfill', 'verify', 'refresh'))`.execute(db);
  await sql`comment on column sluice.orders.targets is 'What a refresh was asked for: records, values or days, as slices'`.execute(
    db,
  );
}
