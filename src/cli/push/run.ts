import { SECOND } from '../../clock.ts';
import { openResource } from '../../engine/resource.ts';
import { isKind } from '../../errors.ts';
import type { Line } from '../../push/lines.ts';
import { runPush } from '../../push/push.ts';
import { createSender } from '../../push/sender.ts';
import type { PushTarget } from '../../push/targets.ts';
import { openClient } from '../../source/client.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { endPush, readItems, startPush } from '../../warehouse/pushes/pushes.ts';
import type { Session } from '../cli.ts';
import { type OpenSource, openLedger } from '../source-settings.ts';
import { createPushProgress } from './progress.ts';
import { createReadBack } from './read-back.ts';
import type { Pushed } from './report.ts';

/** Sends what is to be sent, under the push's lock, and tells how each line ended. */
export async function sendLines(given: {
  session: Session;
  database: Database;
  source: OpenSource;
  /** Aborted when the lock is lost. */
  lost: AbortSignal;
  name: string;
  target: PushTarget;
  file: string;
  lines: readonly Line[];
  options: { wait: boolean; batch: number; resendUnknown?: boolean };
}): Promise<Pushed> {
  const { session, database, source, name, target, file, lines, options } = given;
  const { clock, log, jobs, terminal } = session;
  const { settings } = source;
  const { kysely } = database;
  const place = { source: source.name, resource: name };
  const signal = AbortSignal.any([session.signal, given.lost]);
  const noWait = !options.wait;
  const job = jobs.get(name);
  const resource = job ? await openResource(database, { source: source.name, name, job, schema: source.schema }) : null;
  const pushId = await startPush(database, place, file, lines);
  const progress = createPushProgress(terminal, clock, name, source.timeZone);
  const sender = createSender(openLedger(database, source.name, settings), budget =>
    openClient({
      ...settings,
      concurrency: 1,
      budget,
      noWait,
      clock,
      log,
      onWait: progress.onWait,
      onRetry: progress.onRetry,
    }),
  );
  const end = (state: 'done' | 'failed' | 'stopped', reason: string | null) =>
    endPush(kysely, pushId, { state, reason, requests: sender.requests });
  const pushed = async (): Promise<Pushed> => ({
    ...place,
    file,
    items: await readItems(kysely, pushId),
    requests: sender.requests,
    listed: resource !== null,
  });
  try {
    await runPush({
      database,
      clock,
      signal,
      pushId,
      name,
      target,
      resource,
      sender,
      batchSize: options.batch,
      // A gateway may give up before the server behind it has.
      quietMs: 2 * settings.timeoutMs,
      resendUnknown: options.resendUnknown ?? false,
      readBack: createReadBack({ session: { ...session, signal }, database, source, name, noWait }),
      onQuietWait: waitMs =>
        terminal.note(
          `${name}: waiting ${Math.ceil(waitMs / SECOND)} s until the source must be done with what was not answered`,
        ),
      onSent: progress.sent,
    });
    await end('done', null);
    return await pushed();
  } catch (error) {
    const kept = isKind(error, 'stopped', 'quota');
    // The database may be what failed.
    await end(kept ? 'stopped' : 'failed', error instanceof Error ? error.message : String(error)).catch(
      () => undefined,
    );
    const items = await readItems(kysely, pushId).catch(() => []);
    const created = items.filter(item => item.state === 'created').length;
    if (items.length > 0) terminal.note(`${name}: ${created} of ${items.length} lines are created so far.`);
    throw error;
  } finally {
    await sender.close();
  }
}
