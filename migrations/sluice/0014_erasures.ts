import { type Kysely, sql } from 'kysely';

// Receipts of `sluice forget`: proof that a record was erased, without the record.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table sluice.erasures (
      id bigint generated always as identity primary key,
      source text not null,
      resource text not null,
      key_hash text not null,
      counts jsonb not null,
      erased_at timestamptz not null,
      erased_by text not null
    )`.execute(db);
}
