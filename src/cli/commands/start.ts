import type { Command } from 'commander';
import { MINUTE } from '../../clock.ts';
import type { LoopEvent } from '../../engine/run/engine.ts';
import { explain, isKind, type SluiceError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { refuseUnprotectedHost } from '../../service/access/token-guard.ts';
import type { Pulse } from '../../service/health/pulse.ts';
import { type Planned, startSchedule } from '../../service/schedule/schedule.ts';
import { wakeUp } from '../../service/schedule/wake-up-queue.ts';
import { startWakeUps } from '../../service/schedule/wake-ups.ts';
import { withAnySignal } from '../../source/http/any-signal.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import { dueHints } from '../../warehouse/ledgers/hints.ts';
import { whatIsDue } from '../../warehouse/reports/due.ts';
import { type Cli, newCommand, type Session } from '../cli.ts';
import { keepEmbedded } from '../run/keep-embedded.ts';
import { openEngine } from '../run/open-engine.ts';
import { serveBeside } from '../run/open-service.ts';
import { bringUpToDate } from '../run/pending-migrations.ts';
import { readUnderLock } from '../run/read-under-lock.ts';
import { makeRoom } from '../run/release-embedded.ts';
import { serviceName } from '../run/running-service.ts';
import { isOpen, type NamedSource, type OpenSource, recognise, schedulesOf } from '../source-settings.ts';

/** How often one wake-up may read what became due meanwhile; the next one comes within a minute. */
const MOST_TURNS = 10;

export function startCommand(cli: Cli): Command {
  return newCommand(
    'start',
    'Run as a service: every resource on its schedule, and orders as they come',
    'sluice start\nsluice start --source vienna     only this one of several',
  ).action(
    cli.action({ source: true }, async session => {
      const { settings, jobs, log, clock, draining } = session;
      refuseUnprotectedHost(settings.host, settings.token);
      const sources = settings.sources.filter(isOpen);
      const database = await session.openDatabase({ name: serviceName(session) });
      const readings = await makeRoom(database, sources.length);
      const applied = await unlessStopped(draining, bringUpToDate(session, database));
      if (applied === null) {
        log.info('sluice has stopped before it began; the next start migrates first');
        return 0;
      }
      if (applied.length > 0) log.info({ applied }, 'migrations applied');
      await recogniseAny(database, sources, log);
      const stopping = stopWhenDrained(session);
      const byName = new Map(sources.map(source => [source.name, source]));
      const closing: (() => Promise<void>)[] = [];
      // Also when one of them cannot begin: what goes on holding a connection would keep the process from ending.
      try {
        closing.push(keepEmbedded(session));
        const beside = await serveBeside(session, database, sources);
        closing.push(() => beside.close());
        const planned = sources.flatMap(source => plan(source, session));
        const onSlot = (source: string) => wakeUp(database, source);
        const schedule = await startSchedule({ planned, database, clock, log, onSlot });
        closing.push(() => schedule.stop());
        const wakeUps = await startWakeUps({
          database,
          sources: [...byName.keys()],
          most: readings,
          wake: async (name, turn) => {
            const source = byName.get(name) as OpenSource;
            try {
              return await withAnySignal([draining, turn], ({ signal }) =>
                readWhatIsDue({ ...session, signal: stopping, draining: signal }, database, source, beside.pulse),
              );
            } finally {
              beside.pulse.rest(name);
            }
          },
          log,
        });
        // After the schedule: nothing new is recorded while the last readings end.
        closing.splice(-1, 0, () => wakeUps.stop());
        log.info(
          { sources: [...byName.keys()], resources: [...jobs.keys()], readings, database: database.place },
          'sluice is running',
        );
        await aborted(draining);
        log.info('stopping; what is under way is finished first');
      } finally {
        for (const close of closing.reverse()) await close();
      }
      log.info('sluice has stopped; what was read is kept');
      return 0;
    }),
  );
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise(resolve => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

/** Null when `work` ended because of `signal`, as it was asked to. */
async function unlessStopped<T>(signal: AbortSignal, work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (signal.aborted && isKind(error, 'stopped')) return null;
    throw error;
  }
}

/** Aborted by the second signal, or when the first has been obeyed for long enough. */
function stopWhenDrained({ settings, clock, signal, draining }: Session): AbortSignal {
  const stopping = new AbortController();
  void aborted(draining)
    .then(() => clock.sleep(settings.drainMs, signal))
    .catch(() => undefined)
    .then(() => stopping.abort(draining.reason));
  return stopping.signal;
}

/** An error when each is another installation than so far; of one among others the runs fail and tell it. */
async function recogniseAny(database: Database, sources: readonly OpenSource[], log: Log): Promise<void> {
  const refusals: SluiceError[] = [];
  for (const source of sources) {
    const refusal = await refusalOf(database, source);
    if (!refusal) continue;
    refusals.push(refusal);
    if (refusals.length === sources.length) throw refusal;
    log.error({ source: source.name }, explain(refusal));
  }
}

/** Why it may not be read: it is another installation than so far. */
async function refusalOf(database: Database, source: OpenSource): Promise<SluiceError | null> {
  try {
    await recognise(database, source);
    return null;
  } catch (error) {
    if (isKind(error, 'configuration')) return error;
    throw error;
  }
}

function plan(source: NamedSource, { jobs }: Session): Planned[] {
  const { name, scheduleTimeZone: timeZone } = source;
  return [...schedulesOf(source, jobs)].map(([resource, schedule]) => ({ source: name, resource, schedule, timeZone }));
}

/** Reads one source for as long as something is due and no other process reads it; returns when it wants to go on. */
async function readWhatIsDue(
  session: Session,
  database: Database,
  source: OpenSource,
  pulse: Pulse,
): Promise<Date | null> {
  const { settings, jobs, clock, signal, draining } = session;
  const log = session.log.child({ source: source.name });
  const { retention } = settings;
  const onEvent = (event: LoopEvent) => {
    pulse.beat(source.name);
    tell(log, event);
  };
  for (let turn = 0; turn < MOST_TURNS && !draining.aborted; turn++) {
    pulse.beat(source.name);
    const due = await whatIsDue(database.kysely, source.name);
    const hinted = due.now ? [] : await dueHints(database.kysely, source.name, source);
    if (!due.now && hinted.length === 0) return await within(database, due.at);
    try {
      const read = await readUnderLock(
        {
          database,
          source: source.name,
          signal,
          // Each time: sync --moved, or reset, may have made it right.
          openEngine: async () => {
            const refusal = await refusalOf(database, source);
            return openEngine({ database, source, jobs, retention, clock, log, noWait: false, refusal, onEvent });
          },
        },
        { orders: () => true, slots: true, draining, yields: true },
      );
      if (!read) return null;
    } catch (error) {
      if (isKind(error, 'stopped')) return null;
      throw error;
    }
  }
  return null;
}

/** What is farther away than the next wake-up needs none of its own. */
async function within(database: Database, at: number | null): Promise<Date | null> {
  if (at === null) return null;
  return at - (await databaseNow(database)) < MINUTE ? new Date(at + 1) : null;
}

function tell(log: Log, event: LoopEvent): void {
  if (event.kind === 'waiting') {
    const until = new Date(Date.now() + event.waitMs).toISOString();
    // Below the live lane a wait of seconds is the pace.
    log[event.waitMs > MINUTE ? 'info' : 'debug']({ waitMs: event.waitMs, until }, 'waiting for the request limit');
  }
  if (event.kind !== 'ended') return;
  const { task, state } = event;
  const facts = { resource: task.resource.name, kind: task.kind, run: task.runId, order: task.orderId, ...task.counts };
  if (task.failure) log.error(facts, explain(task.failure));
  else log.info(facts, `${task.resource.name}: ${state}`);
}
