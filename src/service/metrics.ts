import { Counter, Gauge, Registry } from 'prom-client';
import type { Database } from '../warehouse/database/database.ts';
import { freshness, openIncidents } from '../warehouse/ledgers/incidents.ts';
import { openOrders } from '../warehouse/ledgers/orders.ts';
import { resourceMeasures, runMeasures, waitingSeconds } from '../warehouse/reports/measures.ts';
import { orderProgress } from '../warehouse/reports/report.ts';
import { TITLES } from './incidents/alerts.ts';
import { ofEach, type ServedSource } from './served-source.ts';

/**
 * Every metric by its name: what it says, and its labels. All but the last are read from Postgres at each scrape, so that every
 * process tells the same, whoever did the work. What is forgotten after some days cannot be a counter: those are gauges of a window.
 */
export const METRICS = {
  sluice_rows: ['Rows of the resource, as its slices were when they were last read.', 'source', 'resource'],
  sluice_freshness_seconds: [
    'Since the last sync that ended well began. Absent before the first.',
    'source',
    'resource',
  ],
  sluice_overdue_seconds: [
    'Since the first tick that no such sync has followed; 0 when there is none, or the schedule is off.',
    'source',
    'resource',
  ],
  sluice_oldest_proof_seconds: [
    'Since the oldest slice was read in full. Absent while a part was never read.',
    'source',
    'resource',
  ],
  sluice_slices: ['Slices by state: proven_in_a_day, older, never_read.', 'source', 'resource', 'state'],
  sluice_missing_rows: ['Rows that their slice no longer shows, not yet proven gone.', 'source', 'resource'],
  sluice_quarantined_records: ['Records in quarantine.', 'source', 'resource'],
  sluice_requests_limit: ['Requests that the source allows in a window, at the moment.', 'source'],
  sluice_requests_left: ['Requests that may be sent now.', 'source'],
  sluice_requests_in_window: ['Requests sent during the last window, by lane.', 'source', 'lane'],
  sluice_runs_under_way: ['Runs under way, by state: running, or waiting for the request limit.', 'source', 'state'],
  sluice_waiting_seconds: [
    'Until the first run that waits for the request limit goes on. Absent while none waits.',
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
    'Slices of an open order, by state: proven since it was given, or left.',
    'source',
    'order',
    'kind',
    'resource',
    'state',
  ],
  sluice_incidents_open: ['Incidents that are open, by kind.', 'source', 'kind'],
  sluice_webhooks_received_total: [
    'Webhooks that this process received, by what became of them: hint, nothing, refused (wrong secret, too large, or the database out of reach).',
    'result',
  ],
} as const satisfies Record<string, readonly [help: string, ...labels: string[]]>;

type Name = Exclude<keyof typeof METRICS, 'sluice_webhooks_received_total'>;

export interface Metrics {
  readonly contentType: string;
  /** Scrapes that come at the same time share one look at the database. */
  scrape(): Promise<string>;
  webhook(result: (typeof RESULTS)[number]): void;
}

const RESULTS = ['hint', 'nothing', 'refused'] as const;

export function createMetrics(options: { database: Database; sources: readonly ServedSource[] }): Metrics {
  const { database, sources } = options;
  const registry = new Registry();
  const gauges = new Map<string, Gauge>();
  for (const [name, [help, ...labelNames]] of Object.entries(METRICS)) {
    if (name.endsWith('_total')) continue;
    gauges.set(name, new Gauge({ name, help, labelNames, registers: [registry] }));
  }
  const name = 'sluice_webhooks_received_total';
  const received = new Counter({ name, help: METRICS[name][0], labelNames: ['result'], registers: [registry] });
  // What is there from the first scrape on, counts its first webhook too.
  for (const result of RESULTS) received.inc({ result }, 0);

  let scraping: Promise<string> | undefined;
  return {
    contentType: registry.contentType,
    webhook: result => received.inc({ result }),
    scrape() {
      scraping ??= measure()
        .then(found => {
          for (const gauge of gauges.values()) gauge.reset();
          for (const { name, labels, value } of found) gauges.get(name)?.set(labels, value);
          return registry.metrics();
        })
        .finally(() => {
          scraping = undefined;
        });
      return scraping;
    },
  };

  async function measure(): Promise<Found[]> {
    return (await ofEach(sources, source => measureSource(database, source))).flat();
  }
}

interface Found {
  readonly name: Name;
  readonly labels: Record<string, string>;
  readonly value: number;
}

async function measureSource(database: Database, served: ServedSource): Promise<Found[]> {
  const { kysely } = database;
  const source = served.name;
  const resources = [...served.jobs.keys()];
  const found: Found[] = [];
  const add = (name: Name, labels: Record<string, string>, value: number | null) => {
    if (value !== null) found.push({ name, labels: { source, ...labels }, value });
  };
  for (const each of await resourceMeasures(kysely, source, resources)) {
    const { resource } = each;
    add('sluice_rows', { resource }, each.rows);
    add('sluice_oldest_proof_seconds', { resource }, each.oldestProofSeconds);
    add('sluice_slices', { resource, state: 'proven_in_a_day' }, each.provenInADay);
    add('sluice_slices', { resource, state: 'older' }, each.older);
    add('sluice_slices', { resource, state: 'never_read' }, each.neverRead);
    add('sluice_missing_rows', { resource }, each.missing);
    add('sluice_quarantined_records', { resource }, each.quarantined);
  }
  for (const { resource, ageSeconds, overdueSeconds } of await freshness(kysely, source, resources)) {
    add('sluice_freshness_seconds', { resource }, ageSeconds);
    add('sluice_overdue_seconds', { resource }, served.scheduled.includes(resource) ? (overdueSeconds ?? 0) : 0);
  }
  const usage = await served.usage();
  add('sluice_requests_limit', {}, usage.limit);
  add('sluice_requests_left', {}, usage.free);
  for (const [lane, requests] of Object.entries(usage.byLane)) add('sluice_requests_in_window', { lane }, requests);

  const underWay = { running: 0, waiting: 0 };
  const changes = new Map(resources.map(resource => [resource, { inserted: 0, updated: 0, deleted: 0 }]));
  for (const { resource, kind, state, runs, ...changed } of await runMeasures(kysely, source)) {
    if (state === 'running' || state === 'waiting') underWay[state] += runs;
    else add('sluice_runs_in_a_day', { resource, kind, outcome: state }, runs);
    const sum = changes.get(resource);
    if (sum) for (const change of CHANGES) sum[change] += changed[change];
  }
  for (const [state, runs] of Object.entries(underWay)) add('sluice_runs_under_way', { state }, runs);
  add('sluice_waiting_seconds', {}, await waitingSeconds(kysely, source));
  for (const [resource, sum] of changes)
    for (const change of CHANGES) add('sluice_changes_in_a_day', { resource, change }, sum[change]);

  for (const { id, kind, resource } of await openOrders(kysely, source)) {
    const { slices, proven } = await orderProgress(kysely, id);
    add('sluice_order_slices', { order: id, kind, resource, state: 'proven' }, proven);
    add('sluice_order_slices', { order: id, kind, resource, state: 'left' }, slices - proven);
  }
  const kinds = new Map<string, number>();
  for (const { kind } of await openIncidents(kysely, source)) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  for (const kind of Object.keys(TITLES)) add('sluice_incidents_open', { kind }, kinds.get(kind) ?? 0);
  return found;
}

const CHANGES = ['inserted', 'updated', 'deleted'] as const;
