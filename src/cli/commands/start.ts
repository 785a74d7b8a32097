import type { Command } from 'commander';
import { withAnySignal } from '../../any-signal.ts';
import type { SourceConfig } from '../../config/config.ts';
import { type AgendaMemory, newMemory } from '../../engine/run/agenda/agenda.ts';
import { refuseUnprotectedHost } from '../../service/access/token-guard.ts';
import { watchEventLoop } from '../../service/health/pulse.ts';
import { type Planned, startSchedule } from '../../service/schedule/schedule.ts';
import { startWakeUps, wakeUp } from '../../service/schedule/wake-ups.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { findPowers, POWERS_NEXT } from '../../warehouse/reports/server.ts';
import { TARGET_NEXT } from '../agenda/describe-targets.ts';
import { readTargets } from '../agenda/read-targets.ts';
import { limitConnections } from '../run/limit-connections.ts';
import { applyMigrations } from '../run/pending-migrations.ts';
import { serviceName } from '../run/running-service.ts';
import { describeTls, TLS_NEXT } from '../session/describe-tls.ts';
import { newCommand } from '../session/new-command.ts';
import type { Cli, Session } from '../session/session.ts';
import { describeShared, SHARED_NEXT } from '../session/shared-sources.ts';
import { isOpen, type OpenSource, schedulesOf } from '../session/source-settings.ts';
import { checkSources } from '../start/check-sources.ts';
import { keepEmbedded } from '../start/keep-embedded.ts';
import { readDue } from '../start/read-due.ts';
import { serveBeside } from '../start/serve-beside.ts';
import { aborted, stopAfterDraining, unlessStopped } from '../start/stop-signals.ts';

export function startCommand(cli: Cli): Command {
  return newCommand(
    'start',
    'Run as a service: read every resource on its schedule and complete orders',
    'sluice start\nsluice start --source vienna     only one source of several',
  ).action(cli.action({ source: true }, start));
}

async function start(session: Session): Promise<0> {
  const { settings, jobs, log, draining } = session;
  refuseUnprotectedHost(settings.host, settings.token);
  const sources = settings.sources.filter(isOpen);
  const database = await session.openDatabase({ name: serviceName(session) });
  const unprotected = describeTls(database.url);
  if (unprotected !== null) log.warn(`${unprotected}. ${TLS_NEXT}`);
  const atOnce = await limitConnections(database, sources.length);
  const applied = await unlessStopped(draining, applyMigrations(session, database));
  if (applied === null) {
    log.info('sluice has stopped before its tables were migrated; the next start migrates them');
    return 0;
  }
  if (applied.length > 0) log.info({ applied }, 'migrations applied');
  await checkSources(database, sources, log);
  const powers = settings.databaseUrl ? await findPowers(database) : null;
  if (powers !== null) log.warn(`${powers}. ${POWERS_NEXT}`);
  for (const shared of describeShared(sources)) log.warn(`${shared}. ${SHARED_NEXT}`);
  for (const source of sources) await logTargets(session, database, source);
  const closing: (() => Promise<void>)[] = [];
  // The list is closed even if a later part fails to start: an open connection would keep the process alive.
  try {
    await startParts(session, database, sources, atOnce, closing);
    log.info(
      {
        sources: sources.map(({ name }) => name),
        resources: [...jobs.keys()],
        readings: atOnce,
        database: database.place,
      },
      'sluice is running',
    );
    await aborted(draining);
    log.info('stopping; work in progress is finished first');
  } finally {
    for (const close of closing.reverse()) await close();
  }
  log.info('sluice has stopped; everything read so far is kept');
  return 0;
}

async function logTargets({ jobs, log }: Session, database: Database, source: OpenSource): Promise<void> {
  for (const { text, feasible } of await readTargets(database, source, jobs)) {
    const facts = { source: source.name };
    if (feasible === false) log.warn(facts, `target: ${text}. ${TARGET_NEXT}`);
    else log.info(facts, `target: ${text}`);
  }
}

/** Starts the parts of the service and adds to `closing` what stops them, in reverse order. */
async function startParts(
  session: Session,
  database: Database,
  sources: readonly OpenSource[],
  atOnce: number,
  closing: (() => Promise<void>)[],
): Promise<void> {
  const { clock, log, draining } = session;
  const stopping = stopAfterDraining(session);
  closing.push(watchEventLoop(session));
  closing.push(keepEmbedded(session));
  const beside = await serveBeside(session, database, sources);
  closing.push(() => beside.close());
  const planned = sources.flatMap(source => plan(source, session));
  const onSlot = (source: string) => wakeUp(database, source);
  const schedule = await startSchedule({ planned, database, clock, log, onSlot });
  closing.push(() => schedule.stop());
  const byName = new Map(sources.map(source => [source.name, source]));
  const memories = new Map(sources.map(({ name }) => [name, newMemory()]));
  const wakeUps = await startWakeUps({
    database,
    sources: [...byName.keys()],
    most: atOnce,
    wake: async (name, turn) => {
      const source = byName.get(name) as OpenSource;
      try {
        return await withAnySignal([draining, turn.signal], ({ signal }) =>
          readDue({ ...session, signal: stopping, draining: signal }, database, source, {
            pulse: beside.pulse,
            memory: memories.get(name) as AgendaMemory,
            othersWait: () => turn.isAwaited(),
          }),
        );
      } finally {
        beside.pulse.rest(name);
      }
    },
    log,
  });
  // Stopped after the schedule, so that no slot is recorded while the last readings finish.
  closing.splice(-1, 0, () => wakeUps.stop());
}

function plan(source: SourceConfig, { jobs }: Session): Planned[] {
  const { name, scheduleTimeZone: timeZone } = source;
  return [...schedulesOf(source, jobs)].map(([resource, schedule]) => ({ source: name, resource, schedule, timeZone }));
}
