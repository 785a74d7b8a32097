import { sql } from 'kysely';
import type { Db } from '../database/database.ts';
import { epochMs } from '../database/now.ts';
import { eachCounter, type Run, type RunState } from '../ledgers/runs.ts';

export const runColumns = [
  'id',
  'resource',
  'kind',
  'state',
  'reason',
  'next',
  'waiting_until as waitingUntil',
  'started_at as startedAt',
  'ended_at as endedAt',
  ...eachCounter((name, column) => sql<number>`${sql.ref(column)}::float8`.as(name)),
] as const;

export interface PastRun extends Run {
  readonly source: string;
  readonly orderId: string | null;
  /** The tick that it served, in epoch milliseconds. */
  readonly slotAt: number | null;
}

const columns = [...runColumns, 'source', 'order_id as orderId', epochMs('slot_at').as('slotAt')] as const;

interface RunFilter {
  readonly sources: readonly string[];
  readonly resource?: string | undefined;
  readonly state?: RunState | undefined;
  readonly orderId?: string | undefined;
  /** Runs that began before this one. */
  readonly before?: string | undefined;
}

/** Newest first. */
export function listRuns(
  db: Db,
  { sources, resource, state, orderId, before }: RunFilter,
  most: number,
): Promise<PastRun[]> {
  return db
    .selectFrom('sluice.runs')
    .select(columns)
    .where('source', 'in', sources.length === 0 ? [''] : sources)
    .$if(resource !== undefined, query => query.where('resource', '=', resource as string))
    .$if(state !== undefined, query => query.where('state', '=', state as RunState))
    .$if(orderId !== undefined, query => query.where('order_id', '=', orderId as string))
    .$if(before !== undefined, query => query.where('id', '<', before as string))
    .orderBy('id', 'desc')
    .limit(most)
    .execute();
}

export async function readRun(db: Db, id: string): Promise<PastRun | null> {
  const run = await db.selectFrom('sluice.runs').select(columns).where('id', '=', id).executeTakeFirst();
  return run ?? null;
}

/** A request of a run; single requests are kept for a day. */
export interface SentRequest {
  readonly id: string;
  readonly purpose: string | null;
  readonly lane: string;
  readonly status: number | null;
  /** Epoch milliseconds. */
  readonly grantedAt: number;
}

/** Newest first. */
export function requestsOfRun(db: Db, runId: string, most: number): Promise<SentRequest[]> {
  return db
    .selectFrom('sluice.requests')
    .select(['id', 'purpose', 'lane', 'status', epochMs<number>('granted_at').as('grantedAt')])
    .where('run_id', '=', runId)
    .orderBy('id', 'desc')
    .limit(most)
    .execute();
}
