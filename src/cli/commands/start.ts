import type { Command } from 'commander';
import { runBeside, withAnySignal } from '../../any-signal.ts';
import { MINUTE, SECOND } from '../../clock.ts';
import { embeddedStatus, openEmbedded } from '../../embedded-postgres/embedded-server.ts';
import { limitServerLog } from '../../embedded-postgres/server-process.ts';
import { type AgendaMemory, newMemory } from '../../engine/run/agenda.ts';
import { explain, isKind, SluiceError } from '../../errors.ts';
import type { Receiver } from '../../receivers.ts';
import { refuseUnprotectedHost } from '../../service/access/token-guard.ts';
import { createPulse, type Pulse, watchEventLoop } from '../../service/health/health.ts';
import { monitorIncidents } from '../../service/incidents/incident-monitor.ts';
import { deliverChanges } from '../../service/notify/deliver-changes.ts';
import { nextTickOf, startSchedule } from '../../service/schedule/schedule.ts';
import { startWakeUps } from '../../service/schedule/wake-ups.ts';
import { openService } from '../../service/service.ts';
import type { ServedSource } from '../../service/status/served-source.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { createEditor, type ServiceEditor } from '../lists/editor.ts';
import { applyMigrations, listPending } from '../run/pending-migrations.ts';
import { checkSources, readDue } from '../run/read-due.ts';
import { limitConnections } from '../run/read-source.ts';
import { readerConnections, serviceReader } from '../run/service-reader.ts';
import { readTargets, TARGET_NEXT } from '../run/targets.ts';
import { describePowers, describeShared, describeTls } from '../session/check-settings.ts';
import { describeUnknown, hiddenReceivers } from '../session/receivers.ts';
import {
  type Cli,
  isOpen,
  newCommand,
  type OpenSource,
  type Session,
  untilAborted,
  type Warehouse,
} from '../session/session.ts';
import { openLedger, plannedOf, serviceName, watchedSource } from '../session/source-settings.ts';

export function command(cli: Cli): Command {
  return newCommand('start', 'sluice start\nsluice start --source vienna     only one source of several').action(
    cli.action({ source: true }, (session, _options: unknown, command: Command) =>
      withAnySignal([session.draining], drain =>
        start({ ...session, draining: drain.signal }, drain, {
          isPart: command.optsWithGlobals<{ source?: string }>().source !== undefined,
        }),
      ),
    ),
  );
}

/** Runs until `drain` aborts; throws its reason if that is an error of the kind `database`. */
async function start(session: Session, drain: AbortController, of: { isPart: boolean }): Promise<0> {
  const { settings, jobs, log, draining } = session;
  refuseUnprotectedHost(settings.host, settings.token);
  const sources = settings.sources.filter(isOpen);
  const database = await session.openDatabase({ name: serviceName(session) });
  const warn = ({ found, next }: { found: string; next: string }) => log.warn(`${found}. ${next}`);
  describeTls(database.url).forEach(warn);
  const atOnce = await limitConnections(database, sources.length, readerConnections(settings));
  const applied = await applyMigrations(session, database).catch((error: unknown) => {
    if (draining.aborted && isKind(error, 'stopped')) return null;
    throw error;
  });
  if (applied === null) {
    log.info('sluice has stopped before its tables were migrated; the next start migrates them');
    return 0;
  }
  if (applied.length > 0) log.info({ applied }, 'migrations applied');
  await checkSources(session, database, sources);
  if (settings.databaseUrl) (await describePowers(database)).forEach(warn);
  describeShared(sources).forEach(warn);
  for (const source of sources)
    for (const { text, feasible } of await readTargets(database, source, jobs))
      if (feasible === false) log.warn({ source: source.name }, `target: ${text}. ${TARGET_NEXT}`);
      else log.info({ source: source.name }, `target: ${text}`);
  const closing: (() => Promise<void>)[] = [];
  // The list is closed even if a later part fails to start: an open connection would keep the process alive.
  try {
    closing.push(keepEmbedded(session, database, drain), watchEventLoop(session));
    const editor = createEditor(session, database, of);
    const pulse = await serveBeside(session, database, editor, closing);
    const resources = [...jobs.keys()];
    const facts = { sources: sources.map(({ name }) => name), resources, readings: atOnce, database: database.place };
    log.info(facts, 'sluice is running');
    const memories = new Map(sources.map(({ name }) => [name, newMemory()]));
    while (!draining.aborted) {
      await withAnySignal([draining, editor.asked], ({ signal }) =>
        readOnSchedule({ ...editor.session, draining: signal }, database, { atOnce, pulse, memories }),
      );
      if (!draining.aborted) await editor.carryOut();
    }
  } finally {
    for (const close of closing.reverse()) await close();
  }
  if (isKind(draining.reason, 'database')) throw draining.reason;
  log.info('sluice has stopped; everything read so far is kept');
  return 0;
}

interface Read {
  readonly atOnce: number;
  readonly pulse: Pulse;
  readonly memories: ReadonlyMap<string, AgendaMemory>;
}

/** Reads the sources by their schedules, until the service drains and what it reads then has ended. */
async function readOnSchedule(session: Session, database: Database, { atOnce, pulse, memories }: Read): Promise<void> {
  const { settings, jobs, clock, log, draining } = session;
  const sources = settings.sources.filter(isOpen);
  const stopping = stopAfterDraining(session);
  const schedule = await startSchedule({
    planned: sources.flatMap(source => plannedOf(source, jobs)),
    ...{ database, clock, log },
  });
  const byName = new Map(sources.map(source => [source.name, source]));
  const wakeUps = startWakeUps({
    database,
    sources: [...byName.keys()],
    most: atOnce,
    wake: async (name, turn) => {
      const [source, memory] = [byName.get(name) as OpenSource, memories.get(name) as AgendaMemory];
      return withAnySignal([draining, turn.signal], ({ signal }) =>
        readDue({ ...session, signal: stopping, draining: signal }, database, source, {
          pulse,
          memory,
          turn,
        }),
      );
    },
    log,
  });
  await untilAborted(draining);
  log.info('stopping; work in progress is finished first');
  // First, so that no slot is recorded while the last readings finish.
  await schedule.stop();
  await wakeUps.stop();
}

/** A request has six attempts; the seventh time-out and the spare time cover the pauses between them and a slow machine. */
const ATTEMPTS = 7;
const SPARE_MS = 10 * MINUTE;

/** Starts the HTTP port, the incident monitor and the deliveries of a service. The caller beats the pulse whenever a loop makes progress. */
async function serveBeside(
  session: Session,
  database: Database,
  editor: ServiceEditor,
  closing: (() => Promise<void>)[],
): Promise<Pulse> {
  const { settings, clock, log, terminal } = session;
  const sources = settings.sources.filter(isOpen);
  // A source may ask for a wait of a whole window before the next attempt.
  const longestMs = Math.max(0, ...sources.map(({ settings }) => settings.windowMs + ATTEMPTS * settings.timeoutMs));
  const pulse = createPulse(longestMs + SPARE_MS);
  const served = sources.map(({ name }) => serve(editor, database, name));
  const { alertWebhookUrl: alertUrl, alertAllowsPrivate, freshnessLimitMs, host, port, token } = settings;
  const openReader = serviceReader(session, database);
  // Said now, and not only to whoever sends a query.
  if (settings.readerUrl !== null)
    await openReader().catch((error: unknown) =>
      log.warn({ reason: explain(error) }, 'the login for queries cannot be used'),
    );
  const readReceivers = () => hiddenReceivers(session);
  // A wrong file is reported now, and not only in the log.
  readReceivers();
  const unknownNow = (receiver: Receiver) => describeUnknown(editor.session, receiver);
  const common = { database, sources: served, hide: terminal.hidden, clock, log };
  // The start has migrated all of them. Each probe checks one, in turn: checking 200 took longer than a probe waits.
  let probes = 0;
  const service = await openService({
    ...common,
    ...{ host, port, token },
    ...{ openReader, editor },
    pending: () =>
      listPending(editor.session, database, { sources: sources.slice(probes++ % sources.length).slice(0, 1) }),
    pulse,
  });
  closing.push(() => service.close());
  const alerts = { alertUrl, alertAllowsPrivate, freshnessLimitMs };
  closing.push(runBeside(over => monitorIncidents({ ...common, ...alerts }, over)));
  closing.push(
    runBeside(over => deliverChanges({ ...common, openReader, readReceivers, describeUnknown: unknownNow }, over)),
  );
  log.info({ url: service.url }, 'console');
  return pulse;
}

/** A source as it is shown: with what is declared now. */
function serve(editor: Pick<ServiceEditor, 'session'>, database: Database, name: string): ServedSource {
  let of: Session | null = null;
  let shown: ServedSource;
  const now = (): ServedSource => {
    const { session } = editor;
    if (session === of) return shown;
    of = session;
    const source = session.settings.sources.filter(isOpen).find(each => each.name === name) as OpenSource;
    const ledger = openLedger(database, source);
    const nextTickAt = nextTickOf(plannedOf(source, session.jobs));
    shown = { ...watchedSource(source, session.jobs), usage: () => ledger.usage(), nextTickAt };
    return shown;
  };
  const fields = Object.keys(now()) as (keyof ServedSource)[];
  const getters = fields.map(field => [field, { get: () => now()[field], enumerable: true }]);
  return Object.defineProperties({}, Object.fromEntries(getters)) as ServedSource;
}

const CHECK_EVERY_MS = 5 * SECOND;

/**
 * While a service runs, restarts the embedded Postgres if it stops, after a crash or `sluice stop-db`, and limits its log. Returns what ends
 * that. Whoever restarts it may find its port taken: the service, whose connections all go to the old one, then drains with an error.
 */
function keepEmbedded(
  { settings, log, clock }: Session,
  { url }: Pick<Warehouse, 'url'>,
  drain: AbortController,
): () => Promise<void> {
  if (settings.databaseUrl) return async () => undefined;
  const { dataDir } = settings;
  const known = Number(new URL(url).port);
  return runBeside(async over => {
    while (!over.aborted) {
      try {
        await clock.sleep(CHECK_EVERY_MS, over);
        const { state, home, port } = await embeddedStatus(dataDir);
        await limitServerLog(home);
        if (state === 'running' && port !== known) {
          const message = `The embedded Postgres now listens on port ${port}, no longer on ${known}.`;
          const next = 'Start the service again, as a supervisor does by itself: sluice start';
          return drain.abort(new SluiceError('database', message, { next }));
        }
        if (state !== 'stopped') continue;
        log.warn('the embedded Postgres server has stopped; starting it again');
        await openEmbedded({ dataDir, log });
      } catch (error) {
        if (!over.aborted)
          log.error({ reason: explain(error) }, 'could not check or start the embedded Postgres server; trying again');
      }
    }
  });
}

/** Aborts at the second signal, or at the end of the drain period after the first. */
function stopAfterDraining({ settings, clock, signal, draining }: Session): AbortSignal {
  const stopping = new AbortController();
  void untilAborted(draining)
    .then(() => clock.sleep(settings.drainMs, signal))
    .catch(() => undefined)
    .then(() => stopping.abort(draining.reason));
  return stopping.signal;
}
