import { oldestProof } from '../engine/coverage/list.ts';
import { refreshResources } from '../engine/resource.ts';
import { SluiceError } from '../errors.ts';
import { lastStored } from '../warehouse/pushes/push-rows.ts';
import {
  type Before,
  isEmptied,
  markSent,
  noteNews,
  type PushItem,
  type PushNews,
  readItems,
} from '../warehouse/pushes/pushes.ts';
import { isBatchUnsupported, updatesOf } from './parse-response.ts';
import { findRefused, isListed, isUnmatched, type Push, reconcile } from './reconcile.ts';
import type { SendResult } from './sender.ts';
import { groupRequests } from './targets.ts';

/** The push ends after this many rounds in a row that changed the state of no line. */
const MAX_IDLE_ROUNDS = 3;

/**
 * Sends the lines of a push that are not created yet and, if the source has a list, finds them there. Lines that earlier attempts left open
 * are looked up first. Returns when every line is created, refused or of unknown outcome. Throws whatever prevents all lines from being sent;
 * the log keeps everything known until then.
 */
export async function runPush(push: Push): Promise<void> {
  const { resource } = push;
  const { kysely } = push.database;
  await prepareItems(push);
  let { batchSize } = push;
  for (let idleRounds = 0; ; ) {
    const items = await readItems(kysely, push.pushId);
    const planned = items.filter(isToBeSent);
    if (planned.length === 0) return;
    // Lines that were sent before may be the reason why a batch is refused: they go last, so as not to reduce the size for the others.
    planned.sort((a, b) => Number(a.quietAt !== null) - Number(b.quietAt !== null));
    const before = resource ? await lastStored(kysely, resource.table) : null;
    const isOffered = items.some(item => item.state === 'created');
    const nextSize = await sendRound(push, planned, { batchSize, before, isOffered });
    if (isListed(push)) await reconcile(push);
    const left = (await readItems(kysely, push.pushId)).filter(isToBeSent);
    idleRounds = left.length < planned.length || nextSize < batchSize ? 0 : idleRounds + 1;
    if (idleRounds >= MAX_IDLE_ROUNDS)
      throw new SluiceError('failed', `The source creates none of ${left.length} lines and gives no reason.`, {
        next: 'They are not in the source. Try to create one of them there by hand, then repeat the command.',
      });
    batchSize = nextSize;
  }
}

/** One that a new rule emptied waits until its file is pushed again. */
const isToBeSent = (item: PushItem): boolean => item.state === 'planned' && !isEmptied(item);

/** Resolves the outcome of earlier attempts, and plans every line that is to be sent again. */
async function prepareItems(push: Push): Promise<void> {
  const { resendUnknown } = push;
  const { kysely } = push.database;
  const read = () => readItems(kysely, push.pushId);
  const update = async (from: readonly PushItem['state'][], to: Omit<PushNews, 'id'>) => {
    const items = (await read()).filter(item => from.includes(item.state));
    await noteNews(
      kysely,
      items.map(({ id }) => ({ id, ...to })),
    );
  };
  const items = await read();
  if (isListed(push)) {
    if (items.some(isUnmatched)) await reconcile(push);
    if (items.some(item => item.state === 'refused')) await findRefused(push);
    else if (items.some(item => item.state === 'planned')) {
      await refreshResources(push.database.kysely, [push.resource]);
      // Nothing of the list was read yet, so its present rows could not be told from the created ones.
      if (oldestProof(push.resource) === null) await push.readBack('newest');
    }
  } else {
    const message = 'It was sent, but its process ended before an answer arrived.';
    await update(['sent'], { state: 'unknown', message });
  }
  await update(resendUnknown ? ['refused', 'unknown'] : ['refused'], { state: 'planned' });
}

/** Sends the planned lines, and returns the batch size for the lines that are still open or unsent afterwards. */
async function sendRound(
  push: Push,
  planned: readonly PushItem[],
  given: { batchSize: number; before: Before | null; isOffered: boolean },
): Promise<number> {
  const { database, sender, signal, target, quietMs, pushId, name } = push;
  const policy = createSendPolicy(given);
  let lines = 0;
  for (const { batch, items } of groupRequests(target, planned, given.batchSize)) {
    const ids = items.map(item => item.id);
    const bodies = items.map(item => item.body);
    const path = batch && target.batch ? target.batch.path : target.path;
    const body = batch && target.batch ? target.batch.wrap(bodies) : bodies[0];
    // Committed before the request goes out: whatever happens afterwards, no line is sent again without a check.
    const mark = async () => {
      if (await markSent(database.kysely, pushId, ids, quietMs, given.before)) return;
      throw new SluiceError('stale', `Another push of ${name} has taken over these lines; nothing more was sent.`, {
        next: 'Wait until it has ended, then repeat the command.',
      });
    };
    const result = await sender.send({ path, body, purpose: `push ${name}` }, mark, signal);
    const updates = updatesOf(result, items, batch, text => sender.hide(text));
    await noteNews(database.kysely, updates);
    if (result.kind === 'unsent') throw result.error;
    lines += items.length;
    push.onSent(lines);
    if (!policy.continues({ path, batch, result, updates, left: planned.length - lines })) break;
  }
  return policy.batchSize;
}

/** The push ends after this many requests in a row whose outcome is unknown. */
const MAX_UNKNOWN = 3;
/** The push ends after this many single lines in a row that were answered with 404, if none was ever created. */
const MAX_NOT_FOUND = 3;
/** After this many batches in a row that were refused without naming an entry, if none was accepted, the rest waits for smaller ones. */
const MAX_UNNAMED = 2;

/**
 * Learns from the results of one round of requests, so that a failing source is not sent the same thing a thousand times. `isOffered`: a
 * record of this kind was created before, so a 404 is about a record that the line refers to.
 */
function createSendPolicy(start: { batchSize: number; isOffered: boolean }) {
  let { batchSize, isOffered } = start;
  let batchAccepted = false;
  // How often each happened in a row.
  let [unknown, notFound, unnamed] = [0, 0, 0];
  return {
    /** Entries per batch from the next round on. */
    get batchSize() {
      return batchSize;
    },
    /** Whether to continue the round, with `left` lines to send. Throws when the failure would affect all other lines too. */
    continues(sent: { path: string; batch: boolean; result: SendResult; updates: readonly PushNews[]; left: number }) {
      const { path, batch, result, updates, left } = sent;
      isOffered ||= updates.some(({ state }) => state === 'created');
      batchAccepted ||= batch && result.kind === 'answered';
      const refused = result.kind === 'refused' ? result.error : null;
      const isUnnamed = batch && refused !== null && updates.every(({ state }) => state === 'unknown');
      unknown = result.kind === 'unknown' ? unknown + 1 : 0;
      notFound = refused?.status === 404 ? notFound + 1 : 0;
      unnamed = isUnnamed ? unnamed + 1 : 0;
      if (result.kind === 'unknown' && unknown >= MAX_UNKNOWN) throw result.error;
      const refuseAll = (message: string, next: string) => {
        const status = refused?.status;
        throw new SluiceError('refused', message, {
          next,
          ...(status === undefined ? {} : { status }),
          cause: refused,
        });
      };
      if (batch && isBatchUnsupported(result))
        refuseAll(
          `This source accepts no batches: POST ${path} is answered with ${refused?.status}.`,
          'Send one line per request: --batch 1',
        );
      if (refused?.status === 405)
        refuseAll(
          `This source does not allow creating records here: POST ${path} is answered with 405.`,
          'Check in the source whether this installation offers it, then repeat the command; it continues where it stopped.',
        );
      if (notFound >= MAX_NOT_FOUND && !isOffered && left > 0)
        refuseAll(
          `POST ${path} is answered with 404 for ${MAX_NOT_FOUND} lines in a row, and none was created.`,
          'Either this source does not offer it, or the records that these lines refer to do not exist: correct or remove the lines, then repeat the command.',
        );
      if (isUnnamed) batchSize = Math.max(Math.floor(updates.length / 2), 1);
      return batchAccepted || unnamed < MAX_UNNAMED;
    },
  };
}
