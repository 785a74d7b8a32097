import { type Clock, SECOND } from '../../clock.ts';
import { explain } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { claimUntold, inTurn, noteTold, noteTroubles } from '../../warehouse/ledgers/incidents.ts';
import { sharedRun } from '../shared-run.ts';
import type { ServedSource } from '../status/served-source.ts';
import { composeAlert, deliverAlert } from './alerts.ts';
import { findTroubles } from './find-troubles.ts';

const CHECK_EVERY_MS = 10 * SECOND;
/** Longer than a delivery may take: until then no other process tries the same alert. */
const LEASE_SECONDS = 30;

export interface MonitorOptions {
  readonly database: Database;
  readonly sources: readonly Pick<ServedSource, 'name' | 'scheduled'>[];
  /** Null: incidents are recorded and shown, but no alert is sent. */
  readonly alertUrl: string | null;
  readonly freshnessLimitMs: number;
  readonly hide: (text: string) => string;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Records incidents and sends alerts until `signal` aborts. Every process monitors all its sources; each alert is sent once, by one of
 * them. Checks never wait for deliveries: an address that does not answer must not hide new troubles.
 */
export async function monitorIncidents(options: MonitorOptions, signal: AbortSignal): Promise<void> {
  const forEachSource = async (work: (source: MonitorOptions['sources'][number]) => Promise<void>) => {
    for (const source of options.sources) {
      if (signal.aborted) return;
      try {
        await work(source);
      } catch (error) {
        options.log.debug({ source: source.name, reason: explain(error) }, 'could not check for incidents');
      }
    }
  };
  const deliver = sharedRun(() => forEachSource(source => sendAlerts(options, source, signal)));
  while (!signal.aborted) {
    await forEachSource(source => recordIncidents(options, source));
    void deliver();
    await options.clock.sleep(CHECK_EVERY_MS, signal).catch(() => undefined);
  }
  await deliver();
}

/** Checks one source once: opens incidents for new troubles and ends those that are over. */
export async function recordIncidents(
  { database, freshnessLimitMs, hide }: MonitorOptions,
  source: Pick<ServedSource, 'name' | 'scheduled'>,
): Promise<void> {
  await inTurn(database, source.name, async tx => {
    const troubles = await findTroubles(tx, source.name, source.scheduled, freshnessLimitMs);
    await noteTroubles(
      tx,
      source.name,
      troubles.map(each => ({ ...each, message: hide(each.message), next: each.next && hide(each.next) })),
    );
  });
}

/**
 * Sends the alerts of one source that no process has sent yet. Stops once `signal` aborts; another process sends the rest, after the
 * lease of the one being delivered.
 */
export async function sendAlerts(
  { database: { kysely }, alertUrl, hide, log }: MonitorOptions,
  source: Pick<ServedSource, 'name'>,
  signal: AbortSignal,
): Promise<void> {
  while (alertUrl !== null && !signal.aborted) {
    const incident = await claimUntold(kysely, source.name, LEASE_SECONDS);
    if (!incident) return;
    try {
      await deliverAlert(alertUrl, composeAlert(incident, hide), signal);
    } catch (error) {
      if (signal.aborted) return;
      // The address is a secret, and fetch quotes it in some of its errors.
      log.warn({ incident: incident.id, reason: hide(explain(error)) }, 'could not deliver an alert; will retry');
      continue;
    }
    await noteTold(kysely, incident);
    log.info({ incident: incident.id, kind: incident.kind, over: incident.endedAt !== null }, 'alert delivered');
  }
}
