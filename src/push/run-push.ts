import { oldestProof } from '../engine/coverage/list.ts';
import { type Resource, refreshResource } from '../engine/resource.ts';
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
import { isBatchUnsupported, updatesOfBatch, updatesOfSingle } from './parse-response.ts';
import { findRefused, isUnmatched, type Reconciliation, reconcile } from './reconcile.ts';
import type { Sender, SendResult } from './sender.ts';
import { groupRequests } from './targets.ts';

interface Push extends Omit<Reconciliation, 'resource'> {
  /** Its name in the log and in the ledger, e.g. `customers`. */
  readonly name: string;
  /** Null if the API has no list, and so no job, to read the records back. */
  readonly resource: Resource | null;
  readonly sender: Sender;
  /** Entries per batch; 1 sends each line by itself. */
  readonly batchSize: number;
  /** How long the source may still carry out a request that was not answered. */
  readonly quietMs: number;
  readonly resendUnknown: boolean;
  readonly onSent: (lines: number) => void;
}

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
    const planned = items.filter(item => item.state === 'planned');
    if (planned.length === 0) return;
    // Lines that were sent before may be the reason why a batch is refused: they go last, so as not to reduce the size for the others.
    planned.sort((a, b) => Number(a.quietAt !== null) - Number(b.quietAt !== null));
    const before = resource ? await lastStored(kysely, resource.table) : null;
    const isOffered = items.some(item => item.state === 'created');
    const nextSize = await sendRound(push, planned, { batchSize, before, isOffered });
    if (resource) await reconcile({ ...push, resource });
    const left = (await readItems(kysely, push.pushId)).filter(item => item.state === 'planned');
    idleRounds = left.length < planned.length || nextSize < batchSize ? 0 : idleRounds + 1;
    if (idleRounds >= MAX_IDLE_ROUNDS)
      throw new SluiceError('failed', `The source creates none of ${left.length} lines and gives no reason.`, {
        next: 'They are not in the source. Try to create one of them there by hand, then repeat the command.',
      });
    batchSize = nextSize;
  }
}

/** Resolves the outcome of earlier attempts, and plans every line that is to be sent again. */
async function prepareItems(push: Push): Promise<void> {
  const { resource, resendUnknown } = push;
  const { kysely } = push.database;
  let items = await readItems(kysely, push.pushId);
  if (resource) {
    if (items.some(isUnmatched)) await reconcile({ ...push, resource });
    if (items.some(item => item.state === 'refused')) await findRefused({ ...push, resource });
    else if (items.some(item => item.state === 'planned')) {
      await refreshResource(push.database, resource);
      // Nothing of the list was read yet, so its present rows could not be told from the created ones.
      if (oldestProof(resource) === null) await push.readBack('newest');
    }
  } else {
    const message = 'It was sent, but its process ended before an answer arrived.';
    await noteNews(kysely, updatesFrom(items, 'sent', { state: 'unknown', message }));
  }
  items = await readItems(kysely, push.pushId);
  await noteNews(kysely, updatesFrom(items, 'refused', { state: 'planned' }));
  if (resendUnknown) await noteNews(kysely, updatesFrom(items, 'unknown', { state: 'planned' }));
}

const updatesFrom = (items: readonly PushItem[], state: PushItem['state'], update: Omit<PushNews, 'id'>): PushNews[] =>
  items.filter(item => item.state === state).map(({ id }) => ({ id, ...update }));

/** Sends the planned lines, and returns the batch size for the lines that are still open or unsent afterwards. */
async function sendRound(
  push: Push,
  planned: readonly PushItem[],
  given: { batchSize: number; before: Before | null; isOffered: boolean },
): Promise<number> {
  const { database, sender, signal, target, quietMs, pushId } = push;
  const policy = createSendPolicy(given);
  let lines = 0;
  for (const { batch, items } of groupRequests(target, planned, given.batchSize)) {
    const ids = items.map(item => item.id);
    const bodies = items.map(item => item.body);
    const request =
      batch && target.batch
        ? { path: target.batch.path, body: target.batch.wrap(bodies) }
        : { path: target.path, body: bodies[0] };
    const result = await sender.send(
      { ...request, purpose: `push ${push.name}` },
      async () => {
        // Committed before the request goes out: whatever happens afterwards, no line is sent again without a check.
        if (!(await markSent(database.kysely, pushId, ids, quietMs, given.before))) throw takenOver(push.name);
      },
      signal,
    );
    const updates = batch ? updatesOfBatch(result, items, text => sender.hide(text)) : updatesOfSingle(result, items);
    await noteNews(database.kysely, updates);
    if (result.kind === 'unsent') throw result.error;
    lines += items.length;
    push.onSent(lines);
    if (!policy.continues({ path: request.path, batch, result, updates, left: planned.length - lines })) break;
  }
  return policy.batchSize;
}

const takenOver = (name: string): SluiceError =>
  new SluiceError('stale', `Another push of ${name} has taken over these lines; nothing more was sent.`, {
    next: 'Wait until it has ended, then repeat the command.',
  });

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
      unknown = result.kind === 'unknown' ? unknown + 1 : 0;
      if (result.kind === 'unknown' && unknown >= MAX_UNKNOWN) throw result.error;
      if (result.kind === 'refused' && batch && isBatchUnsupported(result)) throw noBatches(path, result.error);
      if (result.kind === 'refused' && result.error.status === 405) throw noCreate(path, result.error);
      isOffered ||= updates.some(({ state }) => state === 'created');
      notFound = result.kind === 'refused' && result.error.status === 404 ? notFound + 1 : 0;
      if (result.kind === 'refused' && notFound >= MAX_NOT_FOUND && !isOffered && left > 0)
        throw allNotFound(path, result.error);
      batchAccepted ||= batch && result.kind === 'answered';
      const isUnnamed = batch && result.kind === 'refused' && updates.every(({ state }) => state === 'unknown');
      unnamed = isUnnamed ? unnamed + 1 : 0;
      if (isUnnamed) batchSize = Math.max(Math.floor(updates.length / 2), 1);
      return batchAccepted || unnamed < MAX_UNNAMED;
    },
  };
}

function noBatches(path: string, cause: SluiceError): SluiceError {
  const message = `This source accepts no batches: POST ${path} is answered with ${cause.status}.`;
  return refusedAll(message, 'Send one line per request: --batch 1', cause);
}

function noCreate(path: string, cause: SluiceError): SluiceError {
  const message = `This source does not allow creating records here: POST ${path} is answered with 405.`;
  const next =
    'Check in the source whether this installation offers it, then repeat the command; it continues where it stopped.';
  return refusedAll(message, next, cause);
}

function allNotFound(path: string, cause: SluiceError): SluiceError {
  const message = `POST ${path} is answered with 404 for ${MAX_NOT_FOUND} lines in a row, and none was created.`;
  const next =
    'Either this source does not offer it, or the records that these lines refer to do not exist: correct or remove the lines, then repeat the command.';
  return refusedAll(message, next, cause);
}

function refusedAll(message: string, next: string, cause: SluiceError): SluiceError {
  const { status } = cause;
  return new SluiceError('refused', message, { next, ...(status === undefined ? {} : { status }), cause });
}
