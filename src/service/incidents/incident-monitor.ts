import { type Clock, MINUTE, SECOND, stampMs } from '../../clock.ts';
import { rewritten } from '../../engine/changes/announce-rewrites.ts';
import { groupBy } from '../../engine/group-by.ts';
import { explain, sentence } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { isLoopback } from '../../loopback.ts';
import { removeReceiver, resumeReceiver } from '../../next-steps.ts';
import type { Database, Db } from '../../warehouse/database/database.ts';
import { pausedDeliveries } from '../../warehouse/ledgers/deliveries.ts';
import {
  claimUntold,
  freshness,
  type Incident,
  inTurn,
  type LastRun,
  lastEndedRuns,
  noteTold,
  noteTroubles,
  openIncidents,
  type Reported,
  type ResourceFreshness,
  type Trouble,
} from '../../warehouse/ledgers/incidents.ts';
import { readStateMark } from '../../warehouse/reports/state-queries.ts';
import { openRewrites } from '../../warehouse/rows/rewrites.ts';
import { plural } from '../format.ts';
import { escapeSlack } from '../notify/compose-message.ts';
import { post } from '../notify/post.ts';
import { sharedRun } from '../shared-run.ts';
import { INCIDENT_WORDS } from '../status/incident-words.ts';
import { createRowTroubles, type Watched } from './row-troubles.ts';

const CHECK_EVERY_MS = 10 * SECOND;
/** While no run, order or incident begins or ends, only time brings troubles. */
const LOOK_EVERY_MS = MINUTE;
/** Longer than a delivery may take: until then no other process tries the same alert. */
const LEASE_SECONDS = 30;

export interface MonitorOptions {
  readonly database: Database;
  readonly sources: readonly Watched[];
  /** Null: incidents are recorded and shown, but no alert is sent. */
  readonly alertUrl: string | null;
  /** The address may lie in a private network. Default: only on this machine, if it says so. */
  readonly alertAllowsPrivate?: boolean;
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
  /** Whether it worked for all. */
  const forEachSource = async (work: (source: Watched) => Promise<void>): Promise<boolean> => {
    let failed = false;
    for (const source of options.sources) {
      if (signal.aborted) return false;
      try {
        await work(source);
      } catch (error) {
        failed = true;
        options.log.debug({ source: source.name, reason: explain(error) }, 'could not check for incidents');
      }
    }
    return !failed;
  };
  const deliver = sharedRun(() => forEachSource(source => sendAlerts(options, source, signal)));
  const findInRows = createRowTroubles(options.log);
  let looked = { mark: '', at: Number.NEGATIVE_INFINITY };
  while (!signal.aborted) {
    // What cannot be read is reported for each source.
    const mark = await readStateMark(options.database.kysely).catch(() => '');
    const at = options.clock.elapsed();
    if (mark === '' || mark !== looked.mark || at - looked.at >= LOOK_EVERY_MS) {
      const isDone = await forEachSource(source => recordIncidents(options, source, findInRows));
      looked = { mark: isDone ? mark : '', at };
    }
    void deliver();
    await options.clock.sleep(CHECK_EVERY_MS, signal).catch(() => undefined);
  }
  await deliver();
}

/** Checks one source once: opens incidents for new troubles and ends those that are over. */
export async function recordIncidents(
  { database, freshnessLimitMs, hide, log }: MonitorOptions,
  source: Watched,
  findInRows = createRowTroubles(log),
): Promise<void> {
  // It may take seconds, so it happens outside of the lock.
  const inRows = await findInRows(database.kysely, source);
  await inTurn(database, source.name, async tx => {
    const troubles = [...(await findTroubles(tx, source.name, source.scheduled, freshnessLimitMs)), ...inRows];
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
  { database: { kysely }, alertUrl, alertAllowsPrivate: allowsPrivate = false, hide, log }: MonitorOptions,
  source: Pick<Watched, 'name'>,
  signal: AbortSignal,
): Promise<void> {
  while (alertUrl !== null && !signal.aborted) {
    const incident = await claimUntold(kysely, source.name, LEASE_SECONDS);
    if (!incident) return;
    const body = JSON.stringify(composeAlert(incident, hide));
    const outcome = await post(alertUrl, { body, allowPrivate: allowsPrivate || isOfThisMachine(alertUrl), signal });
    if (!outcome.isDelivered) {
      const reason = `ALERT_WEBHOOK_URL: ${hide(outcome.reason)}`;
      log.warn({ incident: incident.id, reason }, 'could not deliver an alert; will retry');
      continue;
    }
    await noteTold(kysely, incident);
    log.info({ incident: incident.id, kind: incident.kind, over: incident.endedAt !== null }, 'alert delivered');
  }
}

const isOfThisMachine = (url: string): boolean => isLoopback(new URL(url).hostname);

/**
 * The body of an alert: `text`, which everything that accepts Slack's incoming webhooks shows, and the same facts as fields of an
 * attachment. `hide` removes secrets from what a source may have said.
 */
export function composeAlert(incident: Reported, hide: (text: string) => string): object {
  const { source, resource, kind, message, next, openedAt, endedAt } = incident;
  const isNotice = kind === 'drift';
  const over = endedAt !== null && !isNotice;
  const subject = resource === null ? source : `${source}, ${resource}`;
  const title = isNotice
    ? `Notice: fields changed (${subject})`
    : `${over ? 'Resolved' : 'Sluice'}: ${INCIDENT_WORDS[kind].title} (${subject})`;
  const fields = [
    ['state', isNotice ? 'notice' : over ? 'over' : 'open'],
    ['kind', kind],
    ['source', source],
    ...(resource === null ? [] : [['resource', resource]]),
    ['since', iso(openedAt)],
    ...(over ? [['until', iso(endedAt)]] : []),
    ['incident', incident.id],
  ];
  const lines = over ? [title, `It was: ${message}`] : [title, message, ...(next ? [next] : [])];
  return {
    text: escapeSlack(hide(lines.join('\n'))),
    attachments: [
      {
        color: isNotice ? NOTICE_COLOR : over ? 'good' : kind === 'outdated' ? 'warning' : 'danger',
        fields: fields.map(([title, value = '']) => ({ title, value: escapeSlack(hide(value)), short: true })),
      },
    ],
  };
}

const iso = (stamp: string): string => new Date(stampMs(stamp)).toISOString();

/** Blue: no trouble. */
const NOTICE_COLOR = '#439fe0';

/** What is wrong with a source now, by its last runs and its schedule. Waiting for the request limit is no trouble. */
async function findTroubles(
  db: Db,
  source: string,
  resources: readonly string[],
  freshnessLimitMs: number,
): Promise<Trouble[]> {
  const failed = (await lastEndedRuns(db, source, resources)).filter(run => run.state === 'failed');
  const open = await openIncidents(db, source);
  const troubles = new Map<string, Trouble>();
  /** Resources whose failed sync explains why their data is stale; null for the whole source. */
  const explained = new Set<string | null>();
  for (const [resource, rewrites] of groupBy(await openRewrites(db, source, resources), each => each.resource)) {
    const { message, next } = rewritten(resource, source, rewrites);
    troubles.set(`rewrite ${resource}`, { kind: 'rewrite', resource, message, next: next ?? null });
  }
  for (const { name, reason } of await pausedDeliveries(db, source))
    troubles.set(`undelivered ${name}`, {
      kind: 'undelivered',
      resource: name,
      message: `Changes are no longer delivered to the receiver ${name}: ${sentence(reason ?? 'no reason was recorded')}`,
      next: `Once it is in order: ${resumeReceiver(name)}, or to give it up: ${removeReceiver(name)}`,
    });
  for (const run of failed) {
    // It lasts until somebody settles it.
    if (run.failure === 'rewrite') continue;
    const trouble = troubleOfRun(run, open);
    if (!trouble) continue;
    const name = `${trouble.kind} ${trouble.resource}`;
    if (!troubles.has(name)) troubles.set(name, trouble);
    if (run.kind === 'slot' || run.kind === 'sync') explained.add(trouble.resource);
  }
  for (const each of await freshness(db, source, resources)) {
    const trouble = staleness(each, freshnessLimitMs, explained);
    if (trouble) troubles.set(`outdated ${each.resource}`, trouble);
  }
  return [...troubles.values()];
}

function staleness(
  { resource, ageSeconds, overdueSeconds, isOutdated }: ResourceFreshness,
  freshnessLimitMs: number,
  explained: ReadonlySet<string | null>,
): Trouble | null {
  if (overdueSeconds === null) return null;
  // It stays stale until the next sync: processes with different limits would otherwise open and end the incident in turns.
  if (!isOutdated && overdueSeconds * 1000 <= freshnessLimitMs) return null;
  const age = ageSeconds === null ? 'was not read in full yet' : `was last synced ${minutes(ageSeconds)} ago`;
  const limit = `FRESHNESS_LIMIT_MINUTES (${minutes(freshnessLimitMs / 1000)})`;
  return {
    kind: 'outdated',
    resource,
    message: `${resource} ${age}. A sync has been due for ${minutes(overdueSeconds)}, longer than ${limit}.`,
    next: 'Run sluice status, and check the log for what the service is waiting for.',
    explained: explained.has(null) || explained.has(resource),
  };
}

/** Failures that can affect all resources of a source at once. */
const OF_SOURCE = new Map<string | null, Trouble['kind']>([
  ['unauthorized', 'unauthorized'],
  ['unavailable', 'unavailable'],
  ['configuration', 'failed'],
]);

/**
 * A rejected key, an unavailable source or a different installation is one trouble of the source, and ends with the next successful
 * sync of any resource. Where other resources sync meanwhile, it is the resource's own and stays so: otherwise each success of the
 * others would end it and the next failure would open it again.
 */
function troubleOfRun(run: LastRun, open: readonly Incident[]): Trouble | null {
  const { resource, kind: work, failure, reason, next } = run;
  const message = `The ${work === 'slot' ? 'scheduled sync' : work} of ${resource} failed: ${reason ?? 'no reason was recorded.'}`;
  const kind = OF_SOURCE.get(failure);
  if (!kind) return { kind: failure === 'fuse' ? failure : 'failed', resource, message, next };
  const isOpen = open.some(incident => incident.kind === kind && incident.resource === resource);
  if (isOpen || run.othersMeanwhile) return { kind, resource, message, next };
  return run.othersSince ? null : { kind, resource: null, message, next };
}

const minutes = (seconds: number): string => plural(Math.max(Math.round((seconds * SECOND) / MINUTE), 1), 'minute');
