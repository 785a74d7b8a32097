import { MINUTE } from '../../clock.ts';
import { createPulse, type Pulse } from '../../service/health/pulse.ts';
import { monitorIncidents } from '../../service/incidents/incident-monitor.ts';
import { createTicks } from '../../service/schedule/ticks.ts';
import { wakeUp } from '../../service/schedule/wake-ups.ts';
import { openService } from '../../service/service.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { listPending } from '../run/pending-migrations.ts';
import type { Session } from '../session/session.ts';
import { agendaRules, type OpenSource, openLedger, schedulesOf } from '../session/source-settings.ts';

/** A request has six attempts; the seventh time-out and the spare time cover the pauses between them and a slow machine. */
const ATTEMPTS = 7;
const SPARE_MS = 10 * MINUTE;

/** Starts the HTTP port and the incident monitor of a service. The caller beats `pulse` whenever a loop makes progress. */
export async function serveBeside(
  session: Session,
  database: Database,
  sources: readonly OpenSource[],
): Promise<{ pulse: Pulse; close(): Promise<void> }> {
  const { settings, jobs, clock, log, terminal } = session;
  // A source may ask for a wait of a whole window before the next attempt.
  const longestMs = Math.max(0, ...sources.map(({ settings }) => settings.windowMs + ATTEMPTS * settings.timeoutMs));
  const pulse = createPulse(longestMs + SPARE_MS);
  const served = sources.map(source => {
    const { name, schema, timeZone, settings } = source;
    const ledger = openLedger(database, name, settings);
    const schedules = schedulesOf(source, jobs);
    const ticks = [...new Set(schedules.values())].map(schedule => createTicks(schedule, timeZone));
    const nextTickAt = (now: number) => {
      const nexts = ticks.flatMap(each => each.next(now) ?? []);
      return nexts.length === 0 ? null : Math.min(...nexts);
    };
    const rules = agendaRules(source);
    const scheduled = [...schedules.keys()];
    return { name, schema, timeZone, jobs, scheduled, rules, usage: () => ledger.usage(), nextTickAt };
  });
  const { alertWebhookUrl: alertUrl, freshnessLimitMs } = settings;
  const common = { database, sources: served, hide: terminal.hidden, clock, log };
  // The start has migrated all of them. Each probe checks one, in turn: checking 200 took longer than a probe waits.
  let probes = 0;
  const service = await openService({
    ...common,
    ...{ host: settings.host, port: settings.port, token: settings.token },
    openReader: readerOf(session),
    pending: () => listPending(session, database, sources.slice(probes++ % sources.length).slice(0, 1)),
    pulse,
    onHints: source => wakeUp(database, source),
  });
  const stopping = new AbortController();
  const watching = monitorIncidents({ ...common, alertUrl, freshnessLimitMs }, stopping.signal);
  log.info({ url: service.url }, 'console');
  return {
    pulse,
    async close() {
      stopping.abort();
      await watching;
      await service.close();
    },
  };
}

/** Opened when it is first asked for; closed with the session. */
function readerOf(session: Session): () => Promise<Database | null> {
  let opening: Promise<Database | null> | undefined;
  const open = async () => {
    const reader = await session.openReader();
    // Else it would be the owner, who may write.
    return reader.readerUrl === null ? null : reader;
  };
  return () => {
    opening ??= open().catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
}
