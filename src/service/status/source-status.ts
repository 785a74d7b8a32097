import type { Usage } from '../../budget/ledger/usage.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import { findReader, type SourceReader } from '../../warehouse/database/source-lock.ts';
import { type Incident, openIncidents } from '../../warehouse/ledgers/incidents.ts';
import { type Order, openOrders } from '../../warehouse/ledgers/orders.ts';
import type { Run } from '../../warehouse/ledgers/runs.ts';
import {
  failedLast,
  lastFailures,
  type OrderProgress,
  orderProgress,
  type ResourceState,
  resourceState,
  runsUnderWay,
  type Spending,
  spending,
} from '../../warehouse/reports/report.ts';
import { type ResourceDelay, readDelays } from './resource-delays.ts';
import type { ServedSource } from './served-source.ts';
import { type Presence, shownOrderState, shownRunState } from './shown-state.ts';

/** Everything that `sluice status` and the console show of one source. */
export interface SourceStatus {
  readonly resources: readonly ResourceState[];
  readonly runs: readonly Run[];
  /** The last run of each resource that failed last. */
  readonly failed: readonly Run[];
  /** The newest failures of the last week, newest first, whatever succeeded since. */
  readonly recentFailures: readonly Run[];
  readonly incidents: readonly Incident[];
  readonly orders: readonly (Order & { readonly progress: OrderProgress })[];
  /** Who reads the source now; null if nobody does. */
  readonly reader: SourceReader | null;
  /** Null while the source's address or key is not set. */
  readonly usage: Usage | null;
  readonly lastHour: readonly Spending[];
  readonly delays: readonly ResourceDelay[];
  /** The database's time, in epoch milliseconds. */
  readonly readAt: number;
}

const MOST_FAILURES = 5;

export async function readSourceStatus(
  database: Database,
  source: Pick<ServedSource, 'name' | 'schema' | 'jobs' | 'scheduled' | 'rules'> & {
    /** A service runs for it. */
    isServed: boolean;
    usage(): Promise<Usage | null>;
  },
): Promise<SourceStatus> {
  const { kysely } = database;
  const { name, schema, scheduled } = source;
  const names = [...source.jobs.keys()];
  const resources = [];
  for (const resource of names) resources.push(await resourceState(kysely, { source: name, resource, schema }));
  // Before the reader: a run that begins in between is not taken for one without a process.
  const runs = await runsUnderWay(kysely, name);
  const open = await openOrders(kysely, name);
  const reader = await findReader(database, name);
  const presence: Presence = { isRead: reader !== null, isServed: source.isServed };
  const orders = [];
  for (const order of open) {
    const state = shownOrderState(order.state, presence);
    orders.push({ ...order, state, progress: await orderProgress(kysely, order.id) });
  }
  const usage = await source.usage();
  const failed = await failedLast(kysely, name, names);
  return {
    resources,
    runs: runs.map(run => ({ ...run, state: shownRunState(run.state, presence) })),
    // A resource without a schedule has no next slot that could succeed.
    failed: failed.filter(run => run.kind !== 'slot' || scheduled.includes(run.resource)),
    recentFailures: await lastFailures(kysely, name, names, MOST_FAILURES),
    incidents: await openIncidents(kysely, name),
    orders,
    reader,
    usage,
    delays: await readDelays(database, source, usage),
    lastHour: await spending(kysely, name),
    readAt: await databaseNow(database),
  };
}
