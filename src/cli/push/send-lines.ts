import { basename } from 'node:path';
import { withAnySignal } from '../../any-signal.ts';
import { type Clock, HOUR, SECOND } from '../../clock.ts';
import { isAffordable, rereadCost } from '../../engine/agenda/affordable.ts';
import { openResource } from '../../engine/resource.ts';
import { isKind, SluiceError } from '../../errors.ts';
import type { ReadBack } from '../../push/reconcile.ts';
import { runPush } from '../../push/run-push.ts';
import { createSender } from '../../push/sender.ts';
import type { Line, PushTarget } from '../../push/targets.ts';
import { plural } from '../../service/format.ts';
import type { OrderRequest } from '../../service/orders/order-requests.ts';
import { openClient } from '../../source/client.ts';
import type { Database } from '../../warehouse/database/database.ts';
import type { SourceLock } from '../../warehouse/database/source-lock.ts';
import { endPush, readItems, startPush } from '../../warehouse/pushes/pushes.ts';
import { readEach } from '../run/read-sources.ts';
import { createWaitNote } from '../run/source-client.ts';
import type { Session } from '../session/session.ts';
import { type OpenSource, openLedger } from '../session/source-settings.ts';
import type { Terminal } from '../session/terminal.ts';

/** The lines of a file, checked. */
export interface Sending {
  readonly session: Session;
  readonly database: Database;
  readonly source: OpenSource;
  readonly name: string;
  readonly target: PushTarget;
  readonly path: string;
  readonly lines: readonly Line[];
  readonly options: { readonly wait: boolean; readonly batch: number; readonly resendUnknown?: boolean };
}

/** Sends the lines that are not created yet, under the push's lock, and returns the outcome of each line. */
export function sendLines(sending: Sending, { lost }: SourceLock) {
  const { session } = sending;
  return withAnySignal([session.signal, lost], ({ signal }) =>
    sendUntil({ ...sending, session: { ...session, signal } }),
  );
}

async function sendUntil(sending: Sending) {
  const { session, database, source, name, target, path, lines, options } = sending;
  const file = basename(path);
  const { clock, jobs, log, signal, terminal } = session;
  const { kysely } = database;
  const place = { source: source.name, resource: name };
  const job = jobs.get(name);
  const { schema, settings } = source;
  const { lagMs, timeoutMs } = settings;
  const resource = job ? await openResource(database, { source: source.name, name, job, schema, lagMs }) : null;
  const pushId = await startPush(database, place, file, lines);
  const { sent, ...waits } = createPushProgress(terminal, clock, name, source.timeZone);
  const sender = createSender(openLedger(database, source.name, settings), budget =>
    openClient({ ...settings, ...waits, concurrency: 1, budget, noWait: !options.wait, clock, log }),
  );
  try {
    await runPush({
      ...{ database, clock, signal, pushId, name, target, resource, sender },
      batchSize: options.batch,
      // A gateway may give up before the server behind it does.
      quietMs: 2 * timeoutMs,
      resendUnknown: options.resendUnknown ?? false,
      readBack: range => readBack(sending, range),
      onQuietWait: waitMs =>
        terminal.note(`${name}: waiting ${Math.ceil(waitMs / SECOND)} s until the source shows what was sent`),
      onSent: sent,
    });
    await endPush(kysely, pushId, { state: 'done', reason: null, requests: sender.requests });
    const items = await readItems(kysely, pushId);
    // `listed`: the API has a list of them, so they were read back.
    return { ...place, file, items, requests: sender.requests, listed: resource !== null };
  } catch (error) {
    const state = isKind(error, 'stopped', 'quota') ? 'stopped' : 'failed';
    const reason = error instanceof Error ? error.message : String(error);
    // If the database itself has failed, the first error is the one to report.
    await endPush(kysely, pushId, { state, reason, requests: sender.requests }).catch(() => undefined);
    const items = await readItems(kysely, pushId).catch(() => []);
    const created = items.filter(item => item.state === 'created').length;
    if (items.length > 0) terminal.note(`${name}: ${created} of ${items.length} lines created so far.`);
    throw error;
  } finally {
    await sender.close();
  }
}

/** Reads the list as sync and backfill do. Kind `failed` if that fails. */
async function readBack(sending: Sending, range: Parameters<ReadBack>[0]): Promise<void> {
  const { session, database, source, name, options } = sending;
  const request: OrderRequest =
    range === 'newest'
      ? { resource: name, kind: 'sync', whole: await isShort(sending) }
      : { resource: name, kind: 'backfill', dateFrom: range.from, dateTo: range.to };
  const { results } = await readEach(session, { database, sources: [source], noWait: !options.wait }, [request]);
  const bad = results.find(({ order }) => order.state !== 'done');
  if (!bad) return;
  const why = bad.order.reason ?? `the order is ${bad.order.state}`;
  throw new SluiceError('failed', `${name} could not be read back: ${why}`, {
    next: 'The push has recorded what was created. Run the same command again to continue.',
  });
}

/**
 * The whole list costs at most half of the hourly limit. It is read then even if that means to wait: in some orders, a created row may
 * stand anywhere.
 */
async function isShort({ session, database, source, name }: Sending): Promise<boolean> {
  const job = session.jobs.get(name);
  if (!job) return false;
  const list = await openResource(database, { source: source.name, name, job, schema: source.schema });
  const hourly = (source.limit * HOUR) / source.windowMs;
  return isAffordable(rereadCost(list, Number.POSITIVE_INFINITY), { hourly, free: hourly });
}

const LINE_EVERY_MS = 2 * SECOND;

/** Prints a line every two seconds while lines are sent, and one for each wait. */
export function createPushProgress(
  terminal: Terminal,
  clock: Clock,
  resource: string,
  timeZone: string,
): { sent: (lines: number) => void } & ReturnType<typeof createWaitNote> {
  let reportedAt = clock.now();
  return {
    sent(lines) {
      if (clock.now() - reportedAt < LINE_EVERY_MS) return;
      reportedAt = clock.now();
      terminal.note(`${resource}: ${plural(lines, 'line')} sent so far`);
    },
    ...createWaitNote(terminal, clock, resource, timeZone),
  };
}
