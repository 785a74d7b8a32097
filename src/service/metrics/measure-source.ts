import type { Usage } from '../../budget/ledger/usage.ts';
import type { Database, Db } from '../../warehouse/database/database.ts';
import { findReader } from '../../warehouse/database/source-lock.ts';
import { freshness, openIncidents } from '../../warehouse/ledgers/incidents.ts';
import { openOrders } from '../../warehouse/ledgers/orders.ts';
import { resourceMeasures, runMeasures, waitingSeconds } from '../../warehouse/reports/measures.ts';
import { orderProgress } from '../../warehouse/reports/report.ts';
import { INCIDENT_TITLES } from '../incidents/incident-titles.ts';
import { readDelays } from '../status/resource-delays.ts';
import type { RowCounts } from '../status/row-counts.ts';
import type { ServedSource } from '../status/served-source.ts';
import { shownRunState } from '../status/shown-state.ts';
import type { GaugeName } from './metric-definitions.ts';

export interface Measurement {
  readonly name: GaugeName;
  readonly labels: Record<string, string>;
  readonly value: number;
}

/** Null: there is no value, and the series is left out. */
type Add = (name: GaugeName, labels: Record<string, string>, value: number | null) => void;

/** The values of all gauges of one source. */
export async function measureSource(
  database: Database,
  source: ServedSource,
  rowCounts: RowCounts,
): Promise<Measurement[]> {
  const { kysely } = database;
  const measured: Measurement[] = [];
  const add: Add = (name, labels, value) => {
    if (value !== null) measured.push({ name, labels: { source: source.name, ...labels }, value });
  };
  for (const [resource, rows] of await rowCounts(kysely, source)) add('sluice_rows', { resource }, rows);
  await measureResources(kysely, source, add);
  const usage = await source.usage();
  measureRequests(usage, add);
  await measureDelays(database, source, usage, add);
  await measureRuns(database, source, add);
  await measureOrders(kysely, source, add);
  await measureIncidents(kysely, source, add);
  return measured;
}

async function measureResources(db: Db, { name, jobs, scheduled }: ServedSource, add: Add): Promise<void> {
  const resources = [...jobs.keys()];
  for (const each of await resourceMeasures(db, name, resources)) {
    const { resource } = each;
    add('sluice_oldest_proof_seconds', { resource }, each.oldestProofSeconds);
    add('sluice_slices', { resource, state: 'proven_in_a_day' }, each.provenInADay);
    add('sluice_slices', { resource, state: 'older' }, each.older);
    add('sluice_slices', { resource, state: 'never_read' }, each.neverRead);
    add('sluice_missing_rows', { resource }, each.missing);
    add('sluice_quarantined_records', { resource }, each.quarantined);
  }
  for (const { resource, ageSeconds, overdueSeconds } of await freshness(db, name, resources)) {
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

async function measureRuns(database: Database, { name, jobs }: ServedSource, add: Add): Promise<void> {
  const db = database.kysely;
  // The process that answers is the service. A run whose process died is under way only in its row.
  const presence = { isRead: (await findReader(database, name)) !== null, isServed: true };
  const underWay = { running: 0, waiting: 0 };
  const changes = new Map([...jobs.keys()].map(resource => [resource, { inserted: 0, updated: 0, deleted: 0 }]));
  for (const { resource, kind, state, runs, ...changed } of await runMeasures(db, name)) {
    const shown = shownRunState(state, presence);
    if (shown === 'running' || shown === 'waiting') underWay[shown] += runs;
    else if (shown === state) add('sluice_runs_in_a_day', { resource, kind, outcome: state }, runs);
    const sum = changes.get(resource);
    if (sum) for (const change of CHANGES) sum[change] += changed[change];
  }
  for (const [state, runs] of Object.entries(underWay)) add('sluice_runs_under_way', { state }, runs);
  add('sluice_waiting_seconds', {}, await waitingSeconds(db, name));
  for (const [resource, sum] of changes)
    for (const change of CHANGES) add('sluice_changes_in_a_day', { resource, change }, sum[change]);
}

async function measureOrders(db: Db, { name }: ServedSource, add: Add): Promise<void> {
  for (const { id, kind, resource } of await openOrders(db, name)) {
    const { slices, proven } = await orderProgress(db, id);
    add('sluice_order_slices', { order: id, kind, resource, state: 'proven' }, proven);
    add('sluice_order_slices', { order: id, kind, resource, state: 'left' }, slices - proven);
  }
}

async function measureIncidents(db: Db, { name }: ServedSource, add: Add): Promise<void> {
  const kinds = new Map<string, number>();
  for (const { kind } of await openIncidents(db, name)) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  for (const kind of Object.keys(INCIDENT_TITLES)) add('sluice_incidents_open', { kind }, kinds.get(kind) ?? 0);
}
