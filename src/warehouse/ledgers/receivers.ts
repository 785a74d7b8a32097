import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import type { Db } from '../database/database.ts';

/** A registration that was sent to the source. */
export interface Webhook {
  /** Base address of the service as the source reaches it, without the secret path. */
  readonly url: string;
  readonly events: readonly string[];
  readonly registeredAt: string;
}

/** The secret part of the address at which the source's webhooks arrive: made once, at random. */
export async function receiverSecret(db: Db, source: string): Promise<string> {
  await sql`insert into sluice.receivers (source, secret, made_at)
    values (${source}, ${randomBytes(32).toString('base64url')}, sluice.now()) on conflict (source) do nothing`.execute(
    db,
  );
  const { rows } = await sql<{ secret: string }>`select secret from sluice.receivers where source = ${source}`.execute(
    db,
  );
  return (rows[0] as { secret: string }).secret;
}

export async function listReceivers(db: Db): Promise<{ source: string; secret: string }[]> {
  const { rows } = await sql<{ source: string; secret: string }>`select source, secret from sluice.receivers`.execute(
    db,
  );
  return rows;
}

export async function noteWebhook(db: Db, source: string, url: string, events: readonly string[]): Promise<void> {
  await sql`insert into sluice.webhooks (source, url, events, registered_at)
    values (${source}, ${url}, cast(${events} as text[]), sluice.now())
    on conflict (source, url) do update set events = excluded.events, registered_at = excluded.registered_at`.execute(
    db,
  );
}

export async function listWebhooks(db: Db, source: string): Promise<Webhook[]> {
  const { rows } = await sql<Webhook>`select url, events, registered_at as "registeredAt" from sluice.webhooks
    where source = ${source} order by registered_at`.execute(db);
  return rows;
}
