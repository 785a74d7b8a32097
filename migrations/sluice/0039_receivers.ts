import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  // Not sluice.receivers: that has the addresses at which the source's webhooks arrive.
  await sql`create table if not exists sluice.deliveries (
    source text not null,
    name text not null,
    next bigint not null,
    sending_to bigint,
    attempts integer not null default 0,
    failing_since timestamptz,
    retry_at timestamptz,
    paused_at timestamptz,
    reason text,
    last_delivered_at timestamptz,
    locked_until timestamptz,
    primary key (source, name))`.execute(db);
  await sql`alter table sluice.incidents drop constraint incidents_kind_check, add constraint incidents_kind_check
    check (kind in ('failed', 'fuse', 'rewrite', 'restated', 'undelivered', 'unauthorized', 'unavailable', 'outdated', 'drift'))`.execute(
    db,
  );
  const comments = {
    'table sluice.deliveries': 'How far each receiver of receivers.json is: docs/notify.md.',
    'column sluice.deliveries.source': 'Source.',
    'column sluice.deliveries.name': 'Name of the receiver.',
    'column sluice.deliveries.next': 'Number of the next change to look at.',
    'column sluice.deliveries.sending_to':
      'Last number of a message that was sent and not confirmed; null: there is none.',
    'column sluice.deliveries.attempts': 'Failed deliveries in a row.',
    'column sluice.deliveries.failing_since': 'When the first of them failed.',
    'column sluice.deliveries.retry_at': 'When the next attempt is made; null: at once.',
    'column sluice.deliveries.paused_at': 'When deliveries ended until sluice notify resume; null: they go on.',
    'column sluice.deliveries.reason': 'Why it fails or is paused.',
    'column sluice.deliveries.last_delivered_at': 'When a message was last delivered.',
    'column sluice.deliveries.locked_until': 'Until when a process delivers to it, and no other does.',
    'column sluice.incidents.kind':
      'failed, fuse (the loss limit), rewrite (many values were replaced), restated (rows of a closed month changed), undelivered (a receiver of changes is paused), unauthorized (the key), unavailable (the source), outdated or drift (a notice of fields that appeared or vanished).',
    'column sluice.incidents.resource': 'List, or the receiver that is paused; null: the source as a whole.',
  };
  for (const [what, text] of Object.entries(comments))
    await sql`comment on ${sql.raw(what)} is ${sql.lit(text)}`.execute(db);
}
