import { randomBytes } from 'node:crypto';
import type { Db } from '../database/database.ts';
import { NOW } from '../database/now.ts';

/** A registration that was sent to the source. */
export interface Webhook {
  /** Base address of the service as the source reaches it, without the secret path. */
  readonly url: string;
  readonly events: readonly string[];
  readonly registeredAt: string;
}

/** The secret part of the address at which the source's webhooks arrive: made once, at random. */
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

export function listReceivers(db: Db): Promise<{ source: string; secret: string }[]> {
  return db.selectFrom('sluice.receivers').select(['source', 'secret']).execute();
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
