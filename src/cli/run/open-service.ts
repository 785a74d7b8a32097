import { MINUTE } from '../../clock.ts';
import { createPulse, type Pulse } from '../../service/health/pulse.ts';
import { monitorIncidents } from '../../service/incidents/incident-monitor.ts';
import { wakeUp } from '../../service/schedule/wake-up-queue.ts';
import { openService } from '../../service/service.ts';
import type { Database } from '../../warehouse/database/database.ts';
import type { Session } from '../cli.ts';
import { type OpenSource, openLedger, schedulesOf } from '../source-settings.ts';
import { whatIsPending } from './pending-migrations.ts';

/** A request is tried six times; what comes on top is for the pauses between, and for an overloaded machine. */
const ATTEMPTS = 7;
const SPARE_MS = 10 * MINUTE;

/** What `start` serves beside the reading: the port with its pages, and the watch that alerts. `pulse` is to be told of every loop at work. */
export async function serveBeside(
  session: Session,
  database: Database,
  sources: readonly OpenSource[],
): Promise<{ pulse: Pulse; close(): Promise<void> }> {
  const { settings, jobs, clock, log, terminal } = session;
  // A source may ask to wait for a whole window before the next attempt.
  const longestMs = Math.max(0, ...sources.map(({ settings }) => settings.windowMs + ATTEMPTS * settings.timeoutMs));
  const pulse = createPulse(longestMs + SPARE_MS);
  const served = sources.map(source => {
    const { name, schema, timeZone, settings } = source;
    const ledger = openLedger(database, name, settings);
    const scheduled = [...schedulesOf(source, jobs).keys()];
    return { name, schema, timeZone, jobs, scheduled, usage: () => ledger.usage() };
  });
  const { alertWebhookUrl: alertUrl, freshnessLimitMs } = settings;
  const common = { database, sources: served, hide: terminal.hidden, clock, log };
  // All were brought up to date at the start. Each probe looks at the next of them: 200 took longer than a probe waits.
  let probes = 0;
  const service = await openService({
    ...common,
    ...{ host: settings.host, port: settings.port, token: settings.token },
    pending: () => whatIsPending(session, database, sources.slice(probes++ % sources.length).slice(0, 1)),
    pulse,
    onHints: source => wakeUp(database, source),
  });
  const stopping = new AbortController();
  const watching = monitorIncidents({ ...common, alertUrl, freshnessLimitMs }, stopping.signal);
  log.info({ url: service.url }, 'status page');
  return {
    pulse,
    async close() {
      stopping.abort();
      await watching;
      await service.close();
    },
  };
}
