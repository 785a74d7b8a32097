import { Counter, Gauge, Registry } from 'prom-client';
import { SECOND, stampMs } from '../../clock.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import { listDeliveries } from '../../warehouse/ledgers/deliveries.ts';
import { freshness } from '../../warehouse/ledgers/incidents.ts';
import { runMeasures } from '../../warehouse/reports/activity.ts';
import { sharedRun } from '../shared-run.ts';
import { INCIDENT_KINDS } from '../status/incident-words.ts';
import { readDelays } from '../status/resource-delays.ts';
import { mapSources, type RowCounts, type ServedSource } from '../status/served-source.ts';
import { readStates, type SourceState, sumOf, withProgress } from '../status/source-state.ts';
import { WEBHOOK_RESULTS, type WebhookResult } from '../webhooks/webhook-receiver.ts';

/**
 * Every metric by name: its help and its labels. All but the last are read from Postgres at each scrape, so every process reports the
 * same values. Bookkeeping is deleted after some days, so past events are gauges of the last 24 hours, not counters.
 */
export const METRICS = {
  sluice_source_readable: [
    '1 if the state of the source can be read from Postgres. If not, such as without its schema, 0, and nothing else is reported of it.',
    'source',
  ],
  sluice_rows: ['Rows in the table of the resource, as of its last commit.', 'source', 'resource'],
  sluice_freshness_seconds: [
    'Seconds since the start of the last successful sync. Absent while a part was never read.',
    'source',
    'resource',
  ],
  sluice_overdue_seconds: [
    'Seconds since the first scheduled tick that no successful sync has followed. 0 if there is none, or the schedule is off.',
    'source',
    'resource',
  ],
  sluice_oldest_proof_seconds: [
    'Seconds since the slice with the oldest proof was read in full. Absent while a part was never read.',
    'source',
    'resource',
  ],
  sluice_expected_delay_seconds: [
    'Seconds until a change at the source is expected to arrive, by quantile: mean, or 0.95 of all changes. Absent without a schedule, and while a part was never read.',
    'source',
    'resource',
    'quantile',
  ],
  sluice_measured_delay_seconds: [
    'Mean seconds between the change of a row, by the time that the source gives for it, and its arrival, over the last 24 hours. Absent for lists without such a time, and while nothing arrived.',
    'source',
    'resource',
  ],
  sluice_slices: ['Slices by age of their proof: proven_in_a_day, older, never_read.', 'source', 'resource', 'state'],
  sluice_missing_rows: ['Rows that their slice no longer returns, not yet proven deleted.', 'source', 'resource'],
  sluice_held_values: [
    'Stored values and child rows that the source shows empty, and that are kept.',
    'source',
    'resource',
  ],
  sluice_quarantined_records: ['Records in quarantine.', 'source', 'resource'],
  sluice_requests_reserved: ['Requests per window that are left to other programs.', 'source'],
  sluice_requests_limit: ['Requests per window that Sluice may send at present.', 'source'],
  sluice_requests_left: ['Requests that may be sent now.', 'source'],
  sluice_requests_in_window: ['Requests sent during the last window, by lane.', 'source', 'lane'],
  sluice_runs_under_way: ['Runs in progress, by state: running, or waiting for the request limit.', 'source', 'state'],
  sluice_waiting_seconds: [
    'Seconds until the first run that waits for the request limit resumes. Absent while none waits.',
    'source',
  ],
  sluice_runs_in_a_day: [
    'Runs that ended in the last 24 hours, by outcome: done, failed, stopped.',
    'source',
    'resource',
    'kind',
    'outcome',
  ],
  sluice_changes_in_a_day: ['Rows inserted, updated and deleted in the last 24 hours.', 'source', 'resource', 'change'],
  sluice_order_slices: [
    'Slices of an open order, by state: proven since the order was created, or left.',
    'source',
    'order',
    'kind',
    'resource',
    'state',
  ],
  sluice_incidents_open: ['Open incidents, by kind.', 'source', 'kind'],
  sluice_deliveries_behind: ['Changes that a receiver has not got or passed over yet.', 'source', 'receiver'],
  sluice_deliveries_failing: [
    'Failed deliveries to a receiver in a row. It stays above 0 while the receiver is paused.',
    'source',
    'receiver',
  ],
  sluice_webhooks_received_total: [
    'Webhooks that this process received, by result: hint, nothing (concerns no scheduled resource), refused (wrong secret, too large, or database unavailable).',
    'result',
  ],
} as const satisfies Record<string, readonly [help: string, ...labels: string[]]>;

/** The metrics that are read from Postgres. */
type GaugeName = Exclude<keyof typeof METRICS, `${string}_total`>;

export function createMetrics(
  database: Database,
  sources: readonly ServedSource[],
  given: {
    readonly countRows: RowCounts;
    /** Is told why a source cannot be read. */
    readonly onUnreadable: (source: ServedSource, error: unknown) => string;
  },
) {
  const registry = new Registry();
  const gauges = new Map<string, Gauge>();
  for (const [name, [help, ...labelNames]] of Object.entries(METRICS)) {
    if (name.endsWith('_total')) continue;
    gauges.set(name, new Gauge({ name, help, labelNames, registers: [registry] }));
  }
  const name = 'sluice_webhooks_received_total';
  const received = new Counter({ name, help: METRICS[name][0], labelNames: ['result'], registers: [registry] });
  // Prometheus misses the first increase of a series that does not start at 0.
  for (const result of WEBHOOK_RESULTS) received.inc({ result }, 0);

  /** Concurrent scrapes share one look at the database. */
  const scrape = sharedRun(async () => {
    const at = await databaseNow(database);
    const states = await readStates(database, sources, { isServed: true, ...given });
    const facts = await mapSources(sources, async (source, place) => {
      const state = states[place] as SourceState;
      const known =
        state.unreadable === null
          ? await readFacts(database, source, state).catch((error: unknown) => void given.onUnreadable(source, error))
          : undefined;
      return { source: source.name, known };
    });
    for (const gauge of gauges.values()) gauge.reset();
    for (const { source, known } of facts) {
      const add: Add = (name, labels, value) => {
        if (value !== null) gauges.get(name)?.set({ source, ...labels }, value);
      };
      add('sluice_source_readable', {}, known ? 1 : 0);
      if (known === undefined) continue;
      measureResources(known, add);
      measureWork(known, at, add);
    }
    return registry.metrics();
  });
  return {
    contentType: registry.contentType,
    countWebhook: (result: WebhookResult) => received.inc({ result }),
    scrape,
  };
}

async function readFacts(database: Database, source: ServedSource, state: SourceState) {
  const { kysely } = database;
  const usage = await source.usage();
  return {
    state,
    usage,
    scheduled: source.scheduled,
    freshness: await freshness(kysely, source.name, [...source.jobs.keys()]),
    delays: await readDelays(database, source, usage),
    measured: await runMeasures(kysely, source.name),
    orders: await withProgress(database, state.orders),
    deliveries: await listDeliveries(kysely, [source]),
  };
}

type Facts = Awaited<ReturnType<typeof readFacts>>;

/** Null: there is no value, and the series is left out. */
type Add = (name: GaugeName, labels: Record<string, string>, value: number | null) => void;

const CHANGES = ['inserted', 'updated', 'deleted'] as const;

function measureResources({ state, scheduled, freshness, delays, measured }: Facts, add: Add): void {
  for (const { resource, slices, provenInADay, neverRead, ...each } of state.resources) {
    add('sluice_rows', { resource }, each.rows);
    add('sluice_oldest_proof_seconds', { resource }, each.oldestProofSeconds);
    add('sluice_slices', { resource, state: 'proven_in_a_day' }, provenInADay);
    add('sluice_slices', { resource, state: 'older' }, slices - provenInADay - neverRead);
    add('sluice_slices', { resource, state: 'never_read' }, neverRead);
    add('sluice_missing_rows', { resource }, each.missing);
    add('sluice_held_values', { resource }, each.held);
    add('sluice_quarantined_records', { resource }, each.quarantined);
    const runs = measured.filter(run => run.resource === resource);
    for (const change of CHANGES) add('sluice_changes_in_a_day', { resource, change }, sumOf(runs, change));
  }
  for (const { resource, ageSeconds, overdueSeconds } of freshness) {
    add('sluice_freshness_seconds', { resource }, ageSeconds);
    add('sluice_overdue_seconds', { resource }, scheduled.includes(resource) ? (overdueSeconds ?? 0) : 0);
  }
  for (const { resource, expected, measuredSeconds } of delays) {
    add('sluice_expected_delay_seconds', { resource, quantile: 'mean' }, expected?.meanSeconds ?? null);
    add('sluice_expected_delay_seconds', { resource, quantile: '0.95' }, expected?.within95Seconds ?? null);
    add('sluice_measured_delay_seconds', { resource }, measuredSeconds);
  }
}

function measureWork(
  { state: { runs, incidents }, usage, measured, orders, deliveries }: Facts,
  at: number,
  add: Add,
): void {
  add('sluice_requests_limit', {}, usage.limit);
  add('sluice_requests_reserved', {}, usage.reserve);
  add('sluice_requests_left', {}, usage.free);
  for (const [lane, requests] of Object.entries(usage.byLane)) add('sluice_requests_in_window', { lane }, requests);
  for (const { resource, kind, state, runs: ended } of measured)
    if (state !== 'running' && state !== 'waiting')
      add('sluice_runs_in_a_day', { resource, kind, outcome: state }, ended);
  for (const state of ['running', 'waiting'])
    add('sluice_runs_under_way', { state }, runs.filter(run => run.state === state).length);
  // One with a reason waits for something other than the request limit.
  const ends = runs
    .filter(run => run.state === 'waiting' && run.reason === null)
    .flatMap(({ waitingUntil }) => (waitingUntil === null ? [] : stampMs(waitingUntil)));
  if (ends.length > 0) add('sluice_waiting_seconds', {}, Math.max(Math.min(...ends) - at, 0) / SECOND);
  for (const { id: order, kind, resource, progress } of orders) {
    add('sluice_order_slices', { order, kind, resource, state: 'proven' }, progress.proven);
    add('sluice_order_slices', { order, kind, resource, state: 'left' }, progress.slices - progress.proven);
  }
  for (const { name: receiver, behind, attempts } of deliveries) {
    add('sluice_deliveries_behind', { receiver }, behind);
    add('sluice_deliveries_failing', { receiver }, attempts);
  }
  for (const kind of INCIDENT_KINDS)
    add('sluice_incidents_open', { kind }, incidents.filter(each => each.kind === kind).length);
}
