import type { LookupFunction } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { type Clock, MINUTE, SECOND } from '../../clock.ts';
import { isKind, SluiceError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Receiver } from '../../receivers.ts';
import type { Database } from '../../warehouse/database/database.ts';
import {
  noteFailed,
  notePassed,
  noteSending,
  releaseTurn,
  type Turn,
  takeTurn,
} from '../../warehouse/ledgers/deliveries.ts';
import { readNumbers, whyNotFrom } from '../../warehouse/reports/changes.ts';
import { afterFailure, MOST_FAILING_MS } from './after-failure.ts';
import { composeMessage, LIMITS, sentBytes } from './compose-message.ts';
import { findChanges } from './find-changes.ts';
import { type Outcome, post } from './post.ts';
import { takeBatch } from './take-batch.ts';

/** Longer than a turn may take: 20 seconds for its changes, and 10 for the delivery. */
const LEASE_MS = MINUTE;
/** What a delivery takes at most of it, and some more. */
const SENDING_MS = 15 * SECOND;
/** Kinds of errors that count as failures of a receiver. */
const OF_RECEIVER = ['failed', 'configuration', 'stopped'] as const;
/** Changes that are looked at in one turn: the view compares each with what it was. */
const RANGE = 1000;

export interface DeliveryOptions {
  readonly database: Database;
  /** The login that may only read; null where there is none. */
  readonly openReader: () => Promise<Database | null>;
  readonly hide: (text: string) => string;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
  /** Default: the system's. */
  readonly lookup?: LookupFunction;
  /** Default: Math.random. */
  readonly random?: () => number;
}

/**
 * Delivers the next message to a receiver, if it has changes before it and no other process delivers to it. True if there may be more. Delivered
 * means at least once: a process that dies after the receiver has accepted a message leaves it to be sent again, with the same id.
 */
export async function deliverNext(
  options: DeliveryOptions,
  receiver: Receiver,
  schema: string,
  signal: AbortSignal,
): Promise<boolean> {
  const { kysely } = options.database;
  const turn = await takeTurn(kysely, receiver, { schema, leaseMs: LEASE_MS, longestWaitMs: MOST_FAILING_MS });
  if (turn === null) return false;
  try {
    const why = whyNotFrom(turn, turn.next);
    if (why !== null) return await fail(options, turn, { reason: why, status: null, retryAfterMs: null }, 'pause');
    return await deliver(options, receiver, { turn, schema, signal });
  } catch (error) {
    if (signal.aborted) {
      await releaseTurn(kysely, turn);
      return false;
    }
    // Postgres is away, busy or full, for which no receiver is paused: the turn ends by itself, and a message that was sent is sent again.
    if (!isKind(error, ...OF_RECEIVER)) throw error;
    const reason = error.kind === 'stopped' ? 'its condition takes too long' : error.message;
    return fail(options, turn, { reason, status: null, retryAfterMs: null });
  }
}

async function deliver(
  options: DeliveryOptions,
  receiver: Receiver,
  { turn, schema, signal }: { readonly turn: Turn; readonly schema: string; readonly signal: AbortSignal },
): Promise<boolean> {
  const { database, log } = options;
  const { name, source, form } = receiver;
  const found = await findNext(options, receiver, { turn, schema, signal }).catch((error: unknown) => {
    throw error instanceof SluiceError ? error : asFailure(error);
  });
  // Changes that were no longer kept when they were read are none that nobody wants.
  const { first } = await readNumbers(database, schema);
  const why = whyNotFrom({ first, last: turn.last }, turn.next);
  if (why !== null) return fail(options, turn, { reason: why, status: null, retryAfterMs: null }, 'pause');
  if (found === null) {
    await releaseTurn(database.kysely, turn);
    return false;
  }
  const { changes, to } = found;
  if (changes.length > 0) {
    if (!(await noteSending(database.kysely, turn, to, SENDING_MS))) {
      await releaseTurn(database.kysely, turn);
      return true;
    }
    const id = `${source}.${name}.${turn.next}-${to}`;
    const outcome = await send(options, receiver, { id, body: composeMessage(form, source, changes), signal });
    if (!outcome.isDelivered) return fail(options, turn, outcome);
    log.debug({ source, receiver: name, id, changes: changes.length }, 'changes delivered');
    if (turn.attempts > 0) log.info({ source, receiver: name }, 'changes are delivered again');
  }
  await notePassed(database.kysely, turn, to, changes.length > 0);
  return true;
}

/** The next message: its changes, and the number up to which it goes. Null where the login for queries does not see the next change yet. */
async function findNext(
  options: DeliveryOptions,
  receiver: Receiver,
  { turn, schema, signal }: { readonly turn: Turn; readonly schema: string; readonly signal: AbortSignal },
) {
  const { form } = receiver;
  const reader = await readerFor(options, receiver);
  // It may be a replica that has less than the newest change.
  const seen = reader === options.database ? turn.last : (await readNumbers(reader, schema)).last;
  const end = turn.sendingTo ?? Math.min(turn.last, turn.next + RANGE - 1);
  if (Math.min(end, seen) < (turn.sendingTo ?? turn.next)) return null;
  const range = { schema, from: turn.next, to: Math.min(end, seen) };
  const found = await findChanges(reader, receiver, { ...range, signal });
  return takeBatch(found, range.to, LIMITS[form], data => sentBytes(form, data));
}

/** Posts a message to a receiver, signed where it has a secret. */
export async function send(
  { clock, lookup }: Pick<DeliveryOptions, 'clock' | 'lookup'>,
  { url, secret, allowPrivate }: Receiver,
  { id, body, signal }: { readonly id: string; readonly body: string; readonly signal: AbortSignal },
): Promise<Outcome> {
  const at = new Date(clock.now());
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    ...(secret === undefined ? {} : { 'webhook-signature': new Webhook(secret).sign(id, at, body) }),
  };
  return post(url, { body, headers, allowPrivate, signal, lookup });
}

/** A condition is SQL that somebody wrote: without a login that may only read, it could write. */
async function readerFor({ database, openReader }: DeliveryOptions, { where }: Receiver): Promise<Database> {
  const reader = await openReader().catch((error: unknown) => {
    // Without a condition, every statement is ours.
    if (where === undefined && isKind(error, 'configuration', 'database')) return null;
    throw isKind(error, ...OF_RECEIVER) ? error : asFailure(error);
  });
  if (reader === null && where !== undefined)
    throw new SluiceError('configuration', 'its condition needs a login that may only read: sluice grant');
  return reader ?? database;
}

const asFailure = (error: unknown): SluiceError =>
  new SluiceError('failed', error instanceof Error ? error.message : String(error), { cause: error });

async function fail(
  { database, hide, log, random = Math.random }: DeliveryOptions,
  turn: Turn,
  failed: Pick<Exclude<Outcome, { isDelivered: true }>, 'reason' | 'status' | 'retryAfterMs'>,
  certain?: 'pause',
): Promise<false> {
  const { status, retryAfterMs } = failed;
  const { source, name: receiver, failingForMs } = turn;
  const reason = hide(failed.reason);
  const next =
    certain ?? afterFailure({ attempts: turn.attempts + 1, failingForMs, status, retryAfterMs, random: random() });
  await noteFailed(database.kysely, turn, reason, next === 'pause' ? next : next.retryInMs);
  if (next === 'pause') log.error({ source, receiver, reason }, 'deliveries are paused until somebody resumes them');
  else log.warn({ source, receiver, reason, retryInMs: next.retryInMs }, 'could not deliver changes; will retry');
  return false;
}
