import type { Command } from 'commander';
import { MINUTE, SECOND } from '../clock.ts';
import type { LoopEvent } from '../engine/engine.ts';
import { startSchedule } from '../engine/schedule.ts';
import { explain, isKind, SluiceError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Database } from '../warehouse/database.ts';
import { migrate } from '../warehouse/migrate.ts';
import { openOrders } from '../warehouse/orders.ts';
import { openSlots } from '../warehouse/slots.ts';
import { type Cli, newCommand, type Session } from './cli.ts';
import { openEngine } from './open-engine.ts';
import { readUnderLock } from './read-under-lock.ts';
import { serviceName } from './service.ts';
import type { SourceSettings } from './source-settings.ts';

const RETRY_MS = 5 * SECOND;
const RETRY_CAP_MS = 5 * MINUTE;

export function startCommand(cli: Cli): Command {
  return newCommand(
    'start',
    'Run as a service: every resource on its schedule, and orders as they come',
    'sluice start',
  ).action(
    cli.action({ source: true }, async session => {
      const { settings, jobs, log, signal } = session;
      const database = await session.openDatabase({ name: serviceName(session) });
      const applied = await migrate(session.migrations(database));
      if (applied.length > 0) log.info({ applied }, 'migrations applied');
      const resources = [...jobs].map(([name, job]) => ({ name, job }));
      const schedule = await startSchedule({ source: settings.sourceName, resources, database, log });
      log.info({ resources: [...jobs.keys()], database: database.place }, 'sluice is running');
      try {
        while (!signal.aborted) await serve(session, database, settings.source as SourceSettings);
      } finally {
        await schedule.stop();
      }
      log.info('sluice has stopped; what was read is kept');
      return 0;
    }),
  );
}

/** Reads whenever something is due, until that fails; then waits, longer each time, unless the next reading succeeds. */
async function serve(session: Session, database: Database, source: SourceSettings): Promise<void> {
  const { signal, clock, log } = session;
  const pause = (ms: number) => clock.sleep(ms, signal).catch(() => undefined);
  for (let failures = 0; !signal.aborted; ) {
    try {
      if (await isDue(database, session.settings.sourceName)) await readWhatIsDue(session, database, source);
      failures = 0;
      await pause(SECOND);
    } catch (error) {
      if (signal.aborted) return;
      if (isKind(error, 'configuration')) throw error;
      const waitMs = Math.min(RETRY_MS * 2 ** failures++, RETRY_CAP_MS);
      const kind = error instanceof SluiceError ? error.kind : 'bug';
      log.error({ kind, retryInMs: waitMs, ...(kind === 'bug' ? { err: error } : {}) }, explain(error));
      await pause(waitMs);
    }
  }
}

async function isDue(database: Database, source: string): Promise<boolean> {
  const orders = await openOrders(database.kysely, source);
  if (orders.some(order => order.state !== 'paused')) return true;
  return (await openSlots(database.kysely, source)).length > 0;
}

async function readWhatIsDue(session: Session, database: Database, source: SourceSettings): Promise<void> {
  const { settings, jobs, clock, log, signal } = session;
  const name = settings.sourceName;
  const onEvent = (event: LoopEvent) => tell(log, event);
  const open = () =>
    openEngine({ database, name, source, jobs, schema: settings.schema, clock, log, noWait: false, onEvent });
  await readUnderLock({ database, source: name, signal, openEngine: open }, { orders: () => true, slots: true });
}

function tell(log: Log, event: LoopEvent): void {
  if (event.kind === 'waiting') log.debug({ waitMs: event.waitMs }, 'waiting for the request limit');
  if (event.kind !== 'ended') return;
  const { task, state } = event;
  const facts = { resource: task.resource.name, kind: task.kind, run: task.runId, order: task.orderId, ...task.counts };
  if (task.failure) log.error(facts, explain(task.failure));
  else log.info(facts, `${task.resource.name}: ${state}`);
}
