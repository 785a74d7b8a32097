import { oldestProof, type Resource, refreshResource } from '../engine/resource.ts';
import { SluiceError } from '../errors.ts';
import { lastStored } from '../warehouse/pushes/push-rows.ts';
import {
  type Before,
  markSent,
  noteNews,
  type PushItem,
  type PushNews,
  readItems,
} from '../warehouse/pushes/pushes.ts';
import { batchNews, singleNews } from './item-updates.ts';
import { isOpen, lookForRefused, type Settling, settle } from './reconcile.ts';
import { createOutlook } from './send-policy.ts';
import type { Sender } from './sender.ts';
import type { PushTarget } from './targets.ts';

export interface Push extends Omit<Settling, 'resource'> {
  /** What the log and the ledger call it, e.g. `customers`. */
  readonly name: string;
  /** Null where there is no job, and so no list, to look in. */
  readonly resource: Resource | null;
  readonly sender: Sender;
  /** Entries of a batch; 1: each by itself. */
  readonly batchSize: number;
  /** How long the source may still carry out a request that was not answered. */
  readonly quietMs: number;
  /** Send once more what may have been created. */
  readonly resendUnknown: boolean;
  /** Lines sent so far. */
  readonly onSent: (lines: number) => void;
}

/** Turns in which no line was settled, one after the other, before the rest is given up. */
const MOST_IDLE = 3;

/**
 * Sends the lines of a push that are not created yet, and looks for them at the source where it has a list. What earlier attempts
 * left open is looked for first. Ends when every line is created, refused or cannot be told; throws what keeps all of them from
 * being sent, with everything kept in the log.
 */
export async function runPush(push: Push): Promise<void> {
  const { resource, resendUnknown } = push;
  const { kysely } = push.database;
  let items = await readItems(kysely, push.pushId);
  if (resource) {
    const refused = items.filter(item => item.state === 'refused');
    if (items.some(isOpen)) await settle({ ...push, resource });
    else if (refused.length > 0) await lookForRefused({ ...push, resource }, refused);
    else if (items.some(item => item.state === 'planned') && (await isUnread(push, resource)))
      await push.readBack('newest');
  } else {
    const message = 'It was sent, and then its process ended before an answer came.';
    await noteNews(kysely, of(items, 'sent', { state: 'unknown', message }));
  }
  items = await readItems(kysely, push.pushId);
  await noteNews(kysely, of(items, 'refused', { state: 'planned' }));
  if (resendUnknown) await noteNews(kysely, of(items, 'unknown', { state: 'planned' }));

  let size = push.batchSize;
  for (let idle = 0; ; ) {
    items = await readItems(kysely, push.pushId);
    const planned = items.filter(item => item.state === 'planned');
    if (planned.length === 0) return;
    // What was sent before may be what a batch is refused for, so it must not bring the size down for the rest.
    planned.sort((a, b) => Number(a.quietAt !== null) - Number(b.quietAt !== null));
    const before = resource ? await lastStored(kysely, resource.table) : null;
    const isOffered = items.some(item => item.state === 'created');
    const smaller = await sendAll(push, planned, { size, before, isOffered });
    if (resource) await settle({ ...push, resource });
    const left = (await readItems(kysely, push.pushId)).filter(item => item.state === 'planned');
    idle = left.length < planned.length || smaller < size ? 0 : idle + 1;
    if (idle >= MOST_IDLE)
      throw new SluiceError('failed', `The source creates none of ${left.length} lines, and does not say why.`, {
        next: 'They are not at the source. Try one of them there by hand, then repeat the command.',
      });
    size = smaller;
  }
}

const of = (items: readonly PushItem[], state: PushItem['state'], news: Omit<PushNews, 'id'>): PushNews[] =>
  items.filter(item => item.state === state).map(({ id }) => ({ id, ...news }));

/** What was there before could not be told from what is created. */
async function isUnread({ database }: Push, resource: Resource): Promise<boolean> {
  await refreshResource(database, resource);
  return oldestProof(resource) === null;
}

/** Lines to requests: those that fit go together, the others one by one. */
export function parcelsOf<I extends { readonly body: unknown }>(
  target: PushTarget,
  items: readonly I[],
  size: number,
): { batch: boolean; items: I[] }[] {
  const fits = ({ body }: I) => target.batch !== null && size > 1 && target.batch.entry.safeParse(body).success;
  const together = items.filter(fits);
  const parcels: { batch: boolean; items: I[] }[] = [];
  for (let at = 0; at < together.length; at += size)
    parcels.push({ batch: true, items: together.slice(at, at + size) });
  return [...parcels, ...items.filter(item => !fits(item)).map(item => ({ batch: false, items: [item] }))];
}

/** Returns the size of batches to go on with, for what it could not settle or has not sent. */
async function sendAll(
  push: Push,
  planned: readonly PushItem[],
  given: { size: number; before: Before | null; isOffered: boolean },
): Promise<number> {
  const { database, sender, signal, target, quietMs, pushId } = push;
  const outlook = createOutlook(given);
  let lines = 0;
  for (const { batch, items } of parcelsOf(target, planned, given.size)) {
    const ids = items.map(item => item.id);
    const bodies = items.map(item => item.body);
    const request =
      batch && target.batch
        ? { path: target.batch.path, body: target.batch.wrap(bodies) }
        : { path: target.path, body: bodies[0] };
    const sent = await sender.send(
      { ...request, purpose: `push ${push.name}` },
      async () => {
        // Committed before it leaves: whatever happens from here on, it is not sent again unseen.
        if (!(await markSent(database.kysely, pushId, ids, quietMs, given.before))) throw overtaken(push.name);
      },
      signal,
    );
    const news = batch ? batchNews(sent, items, text => sender.hide(text)) : singleNews(sent, items);
    await noteNews(database.kysely, news);
    if (sent.kind === 'unsent') throw sent.error;
    lines += items.length;
    push.onSent(lines);
    if (!outlook.goesOn({ path: request.path, batch, sent, news, left: planned.length - lines })) break;
  }
  return outlook.size;
}

const overtaken = (name: string): SluiceError =>
  new SluiceError('stale', `Another push of ${name} has taken over these lines; nothing more was sent.`, {
    next: 'Wait until it has ended, then repeat the command.',
  });
