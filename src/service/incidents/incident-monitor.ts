import { type Clock, SECOND } from '../../clock.ts';
import { explain } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { claimUntold, inTurn, noteTold, noteTroubles } from '../../warehouse/ledgers/incidents.ts';
import type { ServedSource } from '../served-source.ts';
import { alertOf, postAlert } from './alerts.ts';
import { troublesOf } from './find-incidents.ts';

const EVERY_MS = 10 * SECOND;
/** Longer than a delivery may take: until then no other process tries the same one. */
const LEASE_SECONDS = 30;

export interface WatchOptions {
  readonly database: Database;
  readonly sources: readonly Pick<ServedSource, 'name' | 'scheduled'>[];
  /** Null: incidents are kept and shown, and nobody is told. */
  readonly alertUrl: string | null;
  readonly freshnessLimitMs: number;
  /** Takes secrets out of a text. */
  readonly hide: (text: string) => string;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Looks for troubles, and tells of them, until `signal` aborts. Every process watches all sources it serves; each trouble is told once by one
 * of them. No look waits for the telling: an address that does not answer would keep troubles from being seen.
 */
export async function watch(options: WatchOptions, signal: AbortSignal): Promise<void> {
  const ofEach = async (work: (source: WatchOptions['sources'][number]) => Promise<void>) => {
    for (const source of options.sources) {
      if (signal.aborted) return;
      try {
        await work(source);
      } catch (error) {
        options.log.debug({ source: source.name, reason: explain(error) }, 'incidents could not be looked at');
      }
    }
  };
  let telling: Promise<void> | undefined;
  while (!signal.aborted) {
    await ofEach(source => noteOnce(options, source));
    telling ??= ofEach(source => tellOnce(options, source, signal)).finally(() => {
      telling = undefined;
    });
    await options.clock.sleep(EVERY_MS, signal).catch(() => undefined);
  }
  await telling;
}

/** One look at one source: what is new becomes an incident, and what is over ends. */
export async function noteOnce(
  { database, freshnessLimitMs, hide }: WatchOptions,
  source: Pick<ServedSource, 'name' | 'scheduled'>,
): Promise<void> {
  await inTurn(database, source.name, async tx => {
    const troubles = await troublesOf(tx, source.name, source.scheduled, freshnessLimitMs);
    await noteTroubles(
      tx,
      source.name,
      troubles.map(each => ({ ...each, message: hide(each.message), next: each.next && hide(each.next) })),
    );
  });
}

/**
 * Tells what nobody was told of a source. Once `signal` aborts nothing more is told: the next process does it, after the lease of
 * the one that was under way.
 */
export async function tellOnce(
  { database: { kysely }, alertUrl, hide, log }: WatchOptions,
  source: Pick<ServedSource, 'name'>,
  signal: AbortSignal,
): Promise<void> {
  while (alertUrl !== null && !signal.aborted) {
    const incident = await claimUntold(kysely, source.name, LEASE_SECONDS);
    if (!incident) return;
    try {
      await postAlert(alertUrl, alertOf(incident, hide), signal);
    } catch (error) {
      if (signal.aborted) return;
      // The address is a secret, and fetch quotes it in some of its errors.
      log.warn(
        { incident: incident.id, reason: hide(explain(error)) },
        'an alert could not be delivered; it is tried again',
      );
      continue;
    }
    await noteTold(kysely, incident);
    log.info({ incident: incident.id, kind: incident.kind, over: incident.endedAt !== null }, 'alert delivered');
  }
}
