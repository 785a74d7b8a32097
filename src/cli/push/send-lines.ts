import { basename } from 'node:path';
import { HOUR, SECOND } from '../../clock.ts';
import { isAffordable, rereadCost } from '../../engine/agenda/affordable.ts';
import { openResource, type Resource, refreshResources } from '../../engine/resource.ts';
import { isKind, SluiceError } from '../../errors.ts';
import type { ReadBack } from '../../push/reconcile.ts';
import { runPush } from '../../push/run-push.ts';
import { createSender } from '../../push/sender.ts';
import type { Line, PushTarget } from '../../push/targets.ts';
import { plural } from '../../service/format.ts';
import { openClient } from '../../source/client.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { endPush, readItems, startPush } from '../../warehouse/pushes/pushes.ts';
import { createWaitNote } from '../output/progress.ts';
import { readEach } from '../run/complete-orders.ts';
import type { OpenSource, Session } from '../session/session.ts';
import { openLedger } from '../session/source-settings.ts';

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

const LINE_EVERY_MS = 2 * SECOND;

/** Sends the lines that are not created yet, and returns the outcome of each line. The caller holds the push's lock. */
export async function sendLines(sending: Sending) {
  const { session, database, source, name, target, path, lines, options } = sending;
  const file = basename(path);
  const { clock, jobs, log, signal, terminal } = session;
  const { kysely } = database;
  const place = { source: source.name, resource: name };
  const job = jobs.get(name);
  const { lagMs, timeoutMs } = source.settings;
  const resource =
    job && (await openResource(database.kysely, { source: source.name, name, job, schema: source.schema, lagMs }));
  const pushId = await startPush(database, place, file, lines);
  const waits = createWaitNote(terminal, clock, name, source.timeZone);
  const sender = createSender(openLedger(database, source), budget =>
    openClient({ ...source.settings, ...waits, concurrency: 1, budget, noWait: !options.wait, clock, log }),
  );
  let reportedAt = clock.now();
  try {
    await runPush({
      ...{ database, clock, signal, pushId, name, target, resource: resource ?? null, sender },
      batchSize: options.batch,
      // A gateway may give up before the server behind it does.
      quietMs: 2 * timeoutMs,
      resendUnknown: options.resendUnknown ?? false,
      readBack: range => readBack(sending, resource as Resource, range),
      onQuietWait: waitMs =>
        terminal.note(`${name}: waiting ${Math.ceil(waitMs / SECOND)} s until the source shows what was sent`),
      onSent(sent) {
        if (clock.now() - reportedAt < LINE_EVERY_MS) return;
        reportedAt = clock.now();
        terminal.note(`${name}: ${plural(sent, 'line')} sent so far`);
      },
    });
    await endPush(kysely, pushId, { state: 'done', reason: null, requests: sender.requests });
    const items = await readItems(kysely, pushId);
    // `listed`: the API has a list of them, so they were read back.
    return { ...place, file, items, requests: sender.requests, listed: resource !== undefined };
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
async function readBack(
  { session, database, source, name, options }: Sending,
  resource: Resource,
  range: Parameters<ReadBack>[0],
): Promise<void> {
  await refreshResources(database.kysely, [resource]);
  const hourly = (source.limit * HOUR) / source.windowMs;
  // A list that costs at most half of the hourly limit is read in full, even if that means to wait: in some orders, a created row
  // may stand anywhere.
  const whole = isAffordable(rereadCost(resource, Number.POSITIVE_INFINITY), { hourly, free: hourly });
  const request =
    range === 'newest'
      ? ({ resource: name, kind: 'sync', whole } as const)
      : ({ resource: name, kind: 'backfill', dateFrom: range.from, dateTo: range.to } as const);
  const { results } = await readEach(session, { database, sources: [source], noWait: !options.wait }, [request]);
  const bad = results.find(({ order }) => order.state !== 'done');
  if (!bad) return;
  const why = bad.order.reason ?? `the order is ${bad.order.state}`;
  throw new SluiceError('failed', `${name} could not be read back: ${why}`, {
    next: 'The push has recorded what was created. Run the same command again to continue.',
  });
}
