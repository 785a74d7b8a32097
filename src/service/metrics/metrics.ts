import { Counter, Gauge, Registry } from 'prom-client';
import type { Usage } from '../../budget/ledger/usage.ts';
import type { Database, Db } from '../../warehouse/database/database.ts';
import { freshness } from '../../warehouse/ledgers/incidents.ts';
import { runMeasures, waitingSeconds } from '../../warehouse/reports/activity.ts';
import { orderProgress } from '../../warehouse/reports/order-progress.ts';
import { INCIDENT_TITLES } from '../status/condition.ts';
import { readDelays } from '../status/resource-delays.ts';
import { mapSources, type RowCounts, type ServedSource } from '../status/served-source.ts';
import { readStates, type SourceState } from '../status/source-state.ts';
import { WEBHOOK_RESULTS, type WebhookResult } from '../webhooks/webhook-receiver.ts';
import { type GaugeName, METRICS } from './metric-definitions.ts';

export function createMetrics(database: Database, sources: readonly ServedSource[], rowCounts: RowCounts) {
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

  const scrape = async () => {
    const states = await readStates(database, sources, { isServed: true, countRows: rowCounts });
    const measured = await mapSources(sources, (source, place) =>
      measureSource(database, source, states[place] as SourceState),
    );
    for (const gauge of gauges.values()) gauge.reset();
    for (const { name, labels, value } of measured.flat()) gauges.get(name)?.set(labels, value);
    return registry.metrics();
  };
  let scraping: Promise<string> | undefined;
  return {
    contentType: registry.contentType,
    countWebhook: (result: WebhookResult) => received.inc({ result }),
    /** Concurrent scrapes share one look at the database. */
    scrape(): Promise<string> {
      scraping ??= scrape().finally(() => {
        scraping = undefined;
      });
      return scraping;
    },
  };
}

interface Measurement {
  readonly name: GaugeName;
  readonly labels: Record<string, string>;
  readonly value: number;
}

/** Null: there is no value, and the series is left out. */
type Add = (name: GaugeName, labels: Record<string, string>, value: number | null) => void;

async function measureSource(database: Database, source: ServedSource, state: SourceState): Promise<Measurement[]> {
  const { kysely } = database;
  const measured: Measurement[] = [];
  const add: Add = (name, labels, value) => {
    if (value !== null) measured.push({ name, labels: { source: source.name, ...labels }, value });
  };
  measureResources(state, add);
  await measureFreshness(kysely, source, add);
  const usage = await source.usage();
  measureRequests(usage, add);
  await measureDelays(database, source, usage, add);
  await measureRuns(kysely, source, state, add);
  await measureOrders(kysely, state, add);
  measureIncidents(state, add);
  return measured;
}

function measureResources({ resources }: SourceState, add: Add): void {
  for (const { resource, rows, slices, oldestProofSeconds, provenInADay, neverRead, ...each } of resources) {
    add('sluice_rows', { resource }, rows);
    add('sluice_oldest_proof_seconds', { resource }, oldestProofSeconds);
    add('sluice_slices', { resource, state: 'proven_in_a_day' }, provenInADay);
    add('sluice_slices', { resource, state: 'older' }, slices - provenInADay - neverRead);
    add('sluice_slices', { resource, state: 'never_read' }, neverRead);
    add('sluice_missing_rows', { resource }, each.missing);
    add('sluice_quarantined_records', { resource }, each.quarantined);
  }
}

async function measureFreshness(db: Db, { name, jobs, scheduled }: ServedSource, add: Add): Promise<void> {
  for (const { resource, ageSeconds, overdueSeconds } of await freshness(db, name, [...jobs.keys()])) {
    add('sluice_freshness_seconds', { resource }, ageSeconds);
    add('sluice_overdue_seconds', { resource }, scheduled.includes(resource) ? (overdueSeconds ?? 0) : 0);
  }
}

async function measureDelays(database: Database, source: ServedSource, usage: Usage, add: Add): Promise<void> {
  for (const { resource, expected, measuredSeconds } of await readDelays(database, source, usage)) {
    add('sluice_expected_delay_seconds', { resource, quantile: 'mean' }, expected?.meanSeconds ?? null);
    add('sluice_expected_delay_seconds', { resource, quantile: '0.95' }, expected?.within95Seconds ?? null);
    add('sluice_measured_delay_seconds', { resource }, measuredSeconds);
  }
}

function measureRequests(usage: Usage, add: Add): void {
  add('sluice_requests_limit', {}, usage.limit);
  add('sluice_requests_left', {}, usage.free);
  for (const [lane, requests] of Object.entries(usage.byLane)) add('sluice_requests_in_window', { lane }, requests);
}

const CHANGES = ['inserted', 'updated', 'deleted'] as const;

async function measureRuns(db: Db, { name, jobs }: ServedSource, { runs: open }: SourceState, add: Add): Promise<void> {
  const changes = new Map([...jobs.keys()].map(resource => [resource, { inserted: 0, updated: 0, deleted: 0 }]));
  for (const { resource, kind, state, runs, ...changed } of await runMeasures(db, name)) {
    if (state !== 'running' && state !== 'waiting')
      add('sluice_runs_in_a_day', { resource, kind, outcome: state }, runs);
    const sum = changes.get(resource);
    if (sum) for (const change of CHANGES) sum[change] += changed[change];
  }
  for (const state of ['running', 'waiting'])
    add('sluice_runs_under_way', { state }, open.filter(run => run.state === state).length);
  add('sluice_waiting_seconds', {}, await waitingSeconds(db, name));
  for (const [resource, sum] of changes)
    for (const change of CHANGES) add('sluice_changes_in_a_day', { resource, change }, sum[change]);
}

async function measureOrders(db: Db, { orders }: SourceState, add: Add): Promise<void> {
  for (const { id, kind, resource } of orders) {
    const { slices, proven } = await orderProgress(db, id);
    add('sluice_order_slices', { order: id, kind, resource, state: 'proven' }, proven);
    add('sluice_order_slices', { order: id, kind, resource, state: 'left' }, slices - proven);
  }
}

function measureIncidents({ incidents }: SourceState, add: Add): void {
  for (const kind of Object.keys(INCIDENT_TITLES))
    add('sluice_incidents_open', { kind }, incidents.filter(each => each.kind === kind).length);
}
