import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import type { Db } from '../database/database.ts';
import { NOW } from '../database/now.ts';

/** A registration that was sent to the source. */
export interface Webhook {
  /** Base address of the service as the source reaches it, without the secret path. */
  readonly url: string;
  readonly events: readonly string[];
  readonly registeredAt: string;
}

/** The secret part of the address at which the source's webhooks arrive, made at random where there is none. */
export async function receiverSecret(db: Db, source: string): Promise<string> {
  await db
    .insertInto('sluice.receivers')
    .values({ source, secret: randomBytes(32).toString('base64url'), made_at: NOW })
    .onConflict(conflict => conflict.column('source').doNothing())
    .execute();
  const { secret } = await db
    .selectFrom('sluice.receivers')
    .select('secret')
    .where('source', '=', source)
    .executeTakeFirstOrThrow();
  return secret;
}

/** Days for which the secret before is accepted: what the source still sends to the earlier address arrives. */
export const PREVIOUS_DAYS = 7;

/** Replaces the secret, unless it is so new that no address was registered with it yet. */
export async function renewSecret(db: Db, source: string): Promise<void> {
  const secret = randomBytes(32).toString('base64url');
  await sql`
    update sluice.receivers set previous = secret, secret = ${secret}, made_at = ${NOW}
    where source = ${source} and exists (
      select from sluice.webhooks w where w.source = receivers.source and w.registered_at >= made_at)`.execute(db);
}

/** Every secret that is accepted now. */
export async function listReceivers(db: Db): Promise<{ source: string; secret: string }[]> {
  const { rows } = await sql<{ source: string; secret: string }>`
    select source, secret from sluice.receivers
    union all
    select source, previous from sluice.receivers
    where previous is not null and made_at > ${NOW} - make_interval(days => ${PREVIOUS_DAYS})`.execute(db);
  return rows;
}

/** Whether `url` was registered with the present secret. */
export async function isRegistered(db: Db, source: string, url: string): Promise<boolean> {
  const found = await db
    .selectFrom('sluice.webhooks')
    .innerJoin('sluice.receivers', 'sluice.receivers.source', 'sluice.webhooks.source')
    .select('url')
    .where('sluice.webhooks.source', '=', source)
    .where('url', '=', url)
    .whereRef('registered_at', '>=', 'made_at')
    .executeTakeFirst();
  return found !== undefined;
}

export async function noteWebhook(db: Db, source: string, url: string, events: readonly string[]): Promise<void> {
  await db
    .insertInto('sluice.webhooks')
    .values({ source, url, events, registered_at: NOW })
    .onConflict(conflict =>
      conflict.columns(['source', 'url']).doUpdateSet(eb => ({
        events: eb.ref('excluded.events'),
        registered_at: eb.ref('excluded.registered_at'),
      })),
    )
    .execute();
}

export function listWebhooks(db: Db, source: string): Promise<Webhook[]> {
  return db
    .selectFrom('sluice.webhooks')
    .select(['url', 'events', 'registered_at as registeredAt'])
    .where('source', '=', source)
    .orderBy('registered_at')
    .execute();
}
