import type { Usage } from '../../budget/ledger/usage.ts';
import { stampMs } from '../../clock.ts';
import { groupBy } from '../../engine/group-by.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import { findReaders, type SourceReader } from '../../warehouse/database/source-lock.ts';
import { cursorVersions } from '../../warehouse/ledgers/cursors.ts';
import { allOpenIncidents, type Incident } from '../../warehouse/ledgers/incidents.ts';
import { allOpenOrders, type Order, type OrderState } from '../../warehouse/ledgers/orders.ts';
import type { Run, RunState } from '../../warehouse/ledgers/runs.ts';
import { readTraits } from '../../warehouse/ledgers/traits.ts';
import { type OrderProgress, orderProgress } from '../../warehouse/reports/order-progress.ts';
import {
  failedLast,
  lastFailures,
  openRuns,
  type ResourceProof,
  recentRequests,
  resourceProofs,
  type ServedTick,
  type Spending,
  servedTicks,
  spending,
  type TableState,
  tableState,
} from '../../warehouse/reports/state-queries.ts';
import { type DriftedField, driftedFields } from './field-drift.ts';
import { type ResourceDelay, readDelays } from './resource-delays.ts';
import { mapSources, type ServedSource } from './served-source.ts';

/** A source as every output shows it. Of many sources it is read in a few statements. */
export interface SourceState {
  readonly name: string;
  readonly timeZone: string;
  /** Why nothing else is known of it, for example because its schema is gone; null where it was read. */
  readonly unreadable: string | null;
  readonly incidents: readonly Incident[];
  /** Those that have not ended, newest first, as people should see them. */
  readonly runs: readonly Run[];
  /** Those that have not ended, oldest first, as people should see them. */
  readonly orders: readonly Order[];
  readonly resources: readonly (ResourceProof & { readonly rows: number })[];
  /** The newest tick of each scheduled resource that was served. */
  readonly ticks: readonly ServedTick[];
  /**
   * The oldest of those (epoch ms): all that was due then was read. Null while one was never served. Where nothing has a schedule, the oldest
   * proof; null while a part was never read.
   */
  readonly upToDateAt: number | null;
  /** Who reads it now; null if nobody does. */
  readonly reader: SourceReader | null;
  /** Requests granted within the last hour. */
  readonly requests: number;
}

export type ResourceState = ResourceProof & TableState & { readonly rows: number };

/** The same of one source, with what takes statements of its own for each resource and order. */
export interface FullState extends SourceState {
  readonly resources: readonly ResourceState[];
  readonly orders: readonly (Order & { readonly progress: OrderProgress })[];
  /** The last run of each resource that failed last. */
  readonly failed: readonly Run[];
  /** The newest failures of the last week, newest first, whatever succeeded since. */
  readonly recentFailures: readonly Run[];
  /** Null while the source's address or key is not set. */
  readonly usage: Usage | null;
  readonly lastHour: readonly Spending[];
  readonly delays: readonly ResourceDelay[];
  readonly drift: readonly DriftedField[];
  /** The database's time, in epoch milliseconds. */
  readonly readAt: number;
}

/** A figure of all resources together. */
export const sumOf = <F extends string>(resources: readonly Readonly<Record<F, number>>[], figure: F): number =>
  resources.reduce((sum, each) => sum + each[figure], 0);

/** A source of which only this is known. */
export const unreadableState = (
  { name, timeZone }: Pick<SourceState, 'name' | 'timeZone'>,
  unreadable: string,
): FullState => ({
  ...{ name, timeZone, unreadable },
  ...{ incidents: [], runs: [], orders: [], resources: [], ticks: [], upToDateAt: null, reader: null, requests: 0 },
  ...{ failed: [], recentFailures: [], usage: null, lastHour: [], delays: [], drift: [], readAt: 0 },
});

type Asked = Pick<ServedSource, 'name' | 'schema' | 'timeZone' | 'jobs' | 'scheduled'>;

interface StateReading<S extends Asked> {
  /** A service runs for these sources. */
  readonly isServed: boolean;
  /** The rows of the tables of a source, by resource. `versions`: those of its cursors. */
  readonly countRows: (source: S, versions: ReadonlyMap<string, string>) => Promise<ReadonlyMap<string, number>>;
  /** Says why a source cannot be read. Without it, the reading rejects. */
  readonly onUnreadable?: (source: S, error: unknown) => string;
}

/** In the order of `sources`. Statements: eight, however many sources there are, and what `countRows` needs. */
export async function readStates<S extends Asked>(
  database: Database,
  sources: readonly S[],
  { isServed, countRows, onUnreadable }: StateReading<S>,
): Promise<SourceState[]> {
  const { kysely } = database;
  const names = sources.map(({ name }) => name);
  const read = sources.flatMap(({ name, jobs }) => placesOf(name, jobs.keys()));
  const ticking = sources.flatMap(({ name, scheduled }) => placesOf(name, scheduled));
  const incidents = bySource(await allOpenIncidents(kysely, names));
  // Before the readers: a run that begins in between is not taken for one without a process.
  const runs = bySource(await openRuns(kysely, names));
  const orders = bySource(await allOpenOrders(kysely, names));
  const readers = await findReaders(database, names);
  const proofs = bySource(await resourceProofs(kysely, read));
  const ticks = bySource(await servedTicks(kysely, ticking));
  const requests = await recentRequests(kysely, names);
  // Before the rows: what is committed after them is counted again.
  const versions = bySource(await cursorVersions(kysely, names));
  return mapSources(sources, async source => {
    const { name, timeZone } = source;
    const reader = readers.get(name) ?? null;
    const presence: Presence = { isRead: reader !== null, isServed };
    const served = withoutSource(ticks.get(name));
    try {
      const cursors = new Map(versions.get(name)?.map(({ resource, version }) => [resource, version]));
      const rows = await countRows(source, cursors);
      const resources = withoutSource(proofs.get(name));
      return {
        name,
        timeZone,
        unreadable: null,
        incidents: incidents.get(name) ?? [],
        runs: withoutSource(runs.get(name)).map(run => ({ ...run, state: shownRunState(run.state, presence) })),
        orders: (orders.get(name) ?? []).map(order => ({ ...order, state: shownOrderState(order.state, presence) })),
        resources: resources.map(each => ({ ...each, rows: rows.get(each.resource) ?? 0 })),
        ticks: served,
        upToDateAt: served.length > 0 ? oldestTick(served) : oldestProof(resources),
        reader,
        requests: requests.get(name) ?? 0,
      };
    } catch (error) {
      if (onUnreadable === undefined) throw error;
      return unreadableState(source, onUnreadable(source, error));
    }
  });
}

const placesOf = (source: string, resources: Iterable<string>) =>
  Array.from(resources, resource => ({ source, resource }));

const bySource = <T extends { readonly source: string }>(rows: readonly T[]) => groupBy(rows, ({ source }) => source);

const withoutSource = <T extends { readonly source: string }>(rows: readonly T[] = []): Omit<T, 'source'>[] =>
  rows.map(row => {
    const { source: _, ...rest } = row;
    return rest;
  });

const MOST_FAILURES = 5;

export async function withProgress({ kysely }: Database, orders: readonly Order[]) {
  const progressing = [];
  for (const order of orders) progressing.push({ ...order, progress: await orderProgress(kysely, order.id) });
  return progressing;
}

/** Rejects where the source cannot be read. */
export async function readFullState(
  database: Database,
  source: Asked & Pick<ServedSource, 'rules'> & { usage(): Promise<Usage | null> },
  reading: Omit<StateReading<typeof source>, 'onUnreadable'>,
): Promise<FullState> {
  const { kysely } = database;
  const { name, schema, scheduled } = source;
  const names = [...source.jobs.keys()];
  const tables = new Map<string, TableState>();
  for (const resource of names) tables.set(resource, await tableState(kysely, { source: name, resource, schema }));
  const [state] = (await readStates(database, [source], reading)) as [SourceState];
  const usage = await source.usage();
  const failed = await failedLast(kysely, name, names);
  const readAt = await databaseNow(database);
  return {
    ...state,
    resources: state.resources.map(({ resource, rows, ...proof }) => {
      const { newestChange, apart, end } = tables.get(resource) as TableState;
      return { resource, rows, newestChange, ...proof, apart, end };
    }),
    orders: await withProgress(database, state.orders),
    // A resource without a schedule has no next slot that could succeed.
    failed: failed.filter(run => run.kind !== 'slot' || scheduled.includes(run.resource)),
    recentFailures: await lastFailures(kysely, name, names, MOST_FAILURES),
    usage,
    delays: await readDelays(database, source, usage),
    lastHour: await spending(kysely, name),
    drift: driftedFields(await readTraits(kysely, name), source.jobs, readAt),
    readAt,
  };
}

/** The oldest of the newest ticks; null while one was never served. */
function oldestTick(ticks: readonly ServedTick[]): number | null {
  const served = ticks.flatMap(({ at }) => at ?? []);
  return served.length === ticks.length ? Math.min(...served) : null;
}

/** Since when all that the source offers was read; null while a part never was. */
function oldestProof(resources: readonly ResourceProof[]): number | null {
  const offered = resources.filter(({ absent }) => !absent);
  const proven = offered.flatMap(each =>
    each.neverRead > 0 || each.oldestProof === null ? [] : stampMs(each.oldestProof),
  );
  return proven.length === offered.length && proven.length > 0 ? Math.min(...proven) : null;
}

/** Which processes work for a source at this moment. */
interface Presence {
  /** A process holds the source's lock. */
  readonly isRead: boolean;
  /** A service is running that will read it again. */
  readonly isServed: boolean;
}

/**
 * The state of an open run as people should see it. A process that is killed cannot record its end; the next reader of the source does,
 * perhaps days later. Until then the lock tells: without a holder, no run is under way.
 */
export function shownRunState(state: RunState, { isRead, isServed }: Presence): RunState {
  if (state === 'running') return isRead ? 'running' : 'stopped';
  // A service releases the source while the request limit blocks it, and returns.
  if (state === 'waiting') return isRead || isServed ? 'waiting' : 'stopped';
  return state;
}

/** An open order that nobody reads waits for the next process. */
export const shownOrderState = (state: OrderState, { isRead }: Pick<Presence, 'isRead'>): OrderState =>
  state === 'running' && !isRead ? 'waiting' : state;
