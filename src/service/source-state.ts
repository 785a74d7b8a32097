import type { Usage } from '../budget/ledger.ts';
import type { Database } from '../warehouse/database/database.ts';
import { type Incident, openIncidents } from '../warehouse/ledgers/incidents.ts';
import { type Order, openOrders } from '../warehouse/ledgers/orders.ts';
import type { Run } from '../warehouse/ledgers/runs.ts';
import {
  lastFailures,
  orderProgress,
  type ResourceState,
  resourceState,
  runsUnderWay,
  type Spending,
  spending,
} from '../warehouse/reports/report.ts';
import type { ServedSource } from './served-source.ts';

/** All that the status page tells of one source. */
export interface SourceState {
  readonly source: Pick<ServedSource, 'name' | 'schema' | 'timeZone'>;
  readonly usage: Usage;
  readonly spending: readonly Spending[];
  readonly resources: readonly ResourceState[];
  readonly underWay: readonly Run[];
  /** The last failures, newest first. */
  readonly failures: readonly Run[];
  readonly orders: readonly (Order & { readonly slices: number; readonly proven: number })[];
  readonly incidents: readonly Incident[];
}

/** A source whose state could not be read, for example because its schema is gone; the others are shown all the same. */
export interface UnreadSource {
  readonly source: SourceState['source'];
  readonly reason: string;
}

const MOST_FAILURES = 5;

/** `hide` takes secrets out of what failed, since a source may have said anything. */
export async function sourceState(
  database: Database,
  source: ServedSource,
  hide: (text: string) => string,
): Promise<SourceState> {
  const { kysely } = database;
  const { name, schema } = source;
  const names = [...source.jobs.keys()];
  const resources = [];
  for (const resource of names) resources.push(await resourceState(kysely, { source: name, resource, schema }));
  const failures = await lastFailures(kysely, name, names, MOST_FAILURES);
  const orders = [];
  for (const order of await openOrders(kysely, name))
    orders.push({ ...order, ...(await orderProgress(kysely, order.id)) });
  return {
    source,
    usage: await source.usage(),
    spending: await spending(kysely, name),
    resources,
    underWay: await runsUnderWay(kysely, name),
    failures: failures.map(run => ({
      ...run,
      reason: run.reason && hide(run.reason),
      next: run.next && hide(run.next),
    })),
    orders,
    incidents: await openIncidents(kysely, name),
  };
}
