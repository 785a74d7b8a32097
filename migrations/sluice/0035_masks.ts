import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table if not exists sluice.masks (
    schema text not null,
    resource text not null,
    field text not null,
    rule text not null check (rule in ('never', 'hash')),
    key_mark text,
    counts jsonb not null,
    masked_at timestamptz not null,
    primary key (schema, resource, field))`.execute(db);
  const comments = {
    'table sluice.masks': 'Fields of which nothing is stored, or a hash: SOURCE_NEVER and SOURCE_HASH.',
    'column sluice.masks.schema': 'Schema of the tables.',
    'column sluice.masks.resource': 'List.',
    'column sluice.masks.field': 'Field; of the rows inside as items.note.',
    'column sluice.masks.rule': 'never or hash.',
    'column sluice.masks.key_mark': 'Tells the key of the hashes from others; null for never.',
    'column sluice.masks.counts': 'Rows that were erased or hashed, by table.',
    'column sluice.masks.masked_at': 'When that was done.',
  };
  for (const [what, text] of Object.entries(comments))
    await sql`comment on ${sql.raw(what)} is ${sql.lit(text)}`.execute(db);
}
