import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sluice.incidents drop constraint if exists incidents_kind_check,
    add constraint incidents_kind_check
      check (kind in ('failed', 'fuse', 'unauthorized', 'unavailable', 'outdated', 'drift'))`.execute(db);
  await sql`comment on column sluice.incidents.kind is
    'failed, fuse (the loss limit), unauthorized (the key), unavailable (the source), outdated or drift (a notice of fields that appeared or vanished).'`.execute(
    db,
  );
}
