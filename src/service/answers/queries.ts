import { setTimeout as delay } from 'node:timers/promises';
import pLimit from 'p-limit';
import { SECOND, stopped } from '../../clock.ts';
import { SluiceError } from '../../errors.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { hasSettled, readOrders } from '../../warehouse/ledgers/orders.ts';
import { type QueryResult, runBounded, TIMEOUT_MS } from '../query/bounded-query.ts';
import { wakeUp } from '../schedule/wake-ups.ts';
import type { ServedSource } from '../status/served-source.ts';
import { type AnswerAge, answerAge, type Complete, type Freshness } from './fresh-query.ts';

/** Queries that run at the same time; others wait. Each holds a connection. */
const MOST_AT_ONCE = 4;
/** How soon the end of an order is noticed. */
const LOOK_MS = SECOND / 20;

export interface Answer {
  readonly result: QueryResult;
  readonly age: AnswerAge;
}

/** Runs one query for somebody who asked the service. */
export type RunQuery = (asked: {
  readonly query: string;
  readonly schema: string;
  /** Rows at most. */
  readonly most: number;
  readonly freshness: Freshness | null;
  readonly signal: AbortSignal;
}) => Promise<Answer>;

/** Queries of the console and of programs: some at a time, each as the login that may only read. */
export function createQueries(parts: {
  readonly database: Database;
  readonly sources: readonly ServedSource[];
  openReader(): Promise<Database | null>;
}): RunQuery {
  const { database, sources } = parts;
  const inTurn = pLimit(MOST_AT_ONCE);
  return async ({ query, schema, most, freshness, signal }) => {
    const reader = await parts.openReader();
    if (reader === null)
      throw new SluiceError('failed', 'No login that may only read is configured, so no query was run.', {
        next: 'Run "sluice grant", and set READER_DATABASE_URL to the address that it prints. Then restart the service.',
      });
    const place = { database, reader, sources, signal, complete: completeBy(database) };
    const findAge = () => answerAge(place, { query, schema, timeoutMs: TIMEOUT_MS }, freshness);
    // One that waits for the source keeps nobody from their turn.
    const age = await (freshness === null ? inTurn(findAge) : findAge());
    return { age, result: await inTurn(() => runBounded(reader, { query, schema, most, signal })) };
  };
}

/** The loop of this service, or whoever reads the source, carries the orders out. */
const completeBy =
  (database: Database): Complete =>
  async ({ name }, orders, signal) => {
    await wakeUp(database, name);
    const ids = orders.map(({ id }) => id);
    for (;;) {
      const now = await readOrders(database.kysely, ids);
      if (now.every(hasSettled)) return;
      if (signal.aborted) throw stopped(signal);
      await delay(LOOK_MS, undefined, { signal }).catch(() => undefined);
    }
  };
