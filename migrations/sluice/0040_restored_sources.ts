import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sluice.incidents drop constraint incidents_kind_check, add constraint incidents_kind_check
    check (kind in ('failed', 'fuse', 'rewrite', 'restored', 'restated', 'undelivered', 'unauthorized', 'unavailable', 'outdated', 'drift'))`.execute(
    db,
  );
  await sql`comment on column sluice.incidents.kind is ${sql.lit(
    'failed, fuse (the loss limit), rewrite (many values were replaced), restored (the source shows an earlier state), restated (rows of a closed month changed), undelivered (a receiver of changes is paused), unauthorized (the key), unavailable (the source), outdated or drift (a notice of fields that appeared or vanished).',
  )}`.execute(db);
}
