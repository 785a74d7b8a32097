import pLimit from 'p-limit';
import type { Budget } from '../../budget/budget.ts';
import type { LoopEvent } from '../../engine/run/engine.ts';
import { SluiceError } from '../../errors.ts';
import type { OrderRequest } from '../../service/orders/order-requests.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { lagText } from '../output/moments.ts';
import { createProgress } from '../output/progress.ts';
import type { Session } from '../session/session.ts';
import { isOpen, isServiceRunning, type OpenSource, recognise } from '../session/source-settings.ts';
import { estimateText, estimateWork, type Work } from './estimate-work.ts';
import { openMigrated } from './pending-migrations.ts';
import { completeOrders, limitConnections, type OrderResult, openSourceEngine } from './read-source.ts';

export type ReadResult = Awaited<ReturnType<typeof readEach>>;

interface ReadOptions {
  readonly noWait: boolean;
  readonly moved?: boolean;
  /** Stop with the kind `quota` after this many requests. */
  readonly maxRequests?: number | null;
  /** Say before the start what this costs. */
  readonly announced?: Work;
  /** Say as well how long it may wait for answers that no longer lag. */
  readonly repair?: boolean;
}

/**
 * The common part of sync, backfill and verify: migrates, then completes the orders at every source. Sources are read side by
 * side, as many as Postgres has connections for, so that none waits for another's request limit.
 */
export async function readSources(
  session: Session,
  requests: readonly OrderRequest[],
  { noWait, moved, maxRequests = null, announced, repair = false }: ReadOptions,
): Promise<ReadResult> {
  const { settings, terminal } = session;
  const sources = settings.sources.filter(isOpen);
  const database = await openMigrated(session);
  const atOnce = await limitConnections(database, sources.length);
  if (atOnce < sources.length)
    terminal.note(
      `Reading ${atOnce} of ${sources.length} sources at a time, because Postgres has no connections for more.`,
    );
  const limited = maxRequests === null ? undefined : limitRequests(maxRequests);
  const prepare = async (source: OpenSource) => {
    await recognise(database, source, moved);
    if (!announced) return;
    const estimate = await estimateWork(session, database, source, announced);
    const lag = repair ? lagText(source.settings.lagMs) : '';
    const text = `${estimateText(estimate, source.timeZone, maxRequests)}${lag}`;
    terminal.note(sources.length > 1 ? `${source.name}: ${text}` : text);
  };
  return readEach(session, { database, sources, noWait, limited, atOnce, prepare }, requests);
}

/** Completes the orders at these sources. The error of a single one is thrown. */
export async function readEach(
  session: Session,
  given: {
    readonly database: Database;
    readonly sources: readonly OpenSource[];
    readonly noWait: boolean;
    readonly limited?: ((budget: Budget) => Budget) | undefined;
    readonly atOnce?: number;
    readonly prepare?: (source: OpenSource) => Promise<void>;
  },
  requests: readonly OrderRequest[],
) {
  const { database, sources, noWait, limited, atOnce = 1, prepare } = given;
  const hasSeveral = sources.length > 1;
  const inTurn = pLimit(atOnce);
  const shown = createProgress(session);
  const reading = sources.map(async source => {
    const { name, timeZone } = source;
    await prepare?.(source);
    const progress = shown.of(hasSeveral ? name : null, timeZone);
    // The schedule of a running service is served too, without a word: its progress is in the log of the service.
    const onEvent = (event: LoopEvent) => {
      if (!('task' in event) || event.task.orderId !== null) progress.onEvent(event);
    };
    return completeOrders(
      {
        ...session,
        ...{ database, source: name, timeZone, noWait, progress, inTurn },
        isServiceRunning: () => isServiceRunning(database, name),
        openEngine: () => openSourceEngine(session, { database, source, noWait, limited, onEvent }),
      },
      requests,
    );
  });
  const ended = await Promise.allSettled(reading).finally(() => shown.stop());
  const results: OrderResult[] = [];
  const failed: { source: string; error: SluiceError }[] = [];
  for (const [index, outcome] of ended.entries()) {
    if (outcome.status === 'fulfilled') results.push(...outcome.value);
    else if (hasSeveral && !session.signal.aborted && outcome.reason instanceof SluiceError)
      failed.push({ source: sources[index]?.name ?? '', error: outcome.reason });
    else throw outcome.reason;
  }
  return { results, failed };
}

/** Bounds the requests of all budgets that it wraps to `most` together; kind `quota` for the next, once those sent are answered. */
export function limitRequests(most: number): (budget: Budget) => Budget {
  let left = most;
  const open = new Set<string>();
  let answered: (() => void)[] = [];
  const close = (ids: readonly string[]) => {
    for (const id of ids) open.delete(id);
    if (open.size > 0) return;
    for (const resolve of answered) resolve();
    answered = [];
  };
  return budget => ({
    async take(lane, want, kept) {
      // What is in flight is still read and kept; a grant that comes back unused may be taken again.
      while (left === 0 && open.size > 0) await new Promise<void>(resolve => answered.push(resolve));
      if (left === 0)
        throw new SluiceError('quota', `Stopped after ${most} requests, as --max-requests says.`, {
          next: 'Run the same command again to continue. Everything read so far is kept.',
        });
      const reserved = Math.min(want, left);
      left -= reserved;
      let used = 0;
      try {
        const taken = await budget.take(lane, reserved, kept);
        used = taken.grants.length;
        for (const { id } of taken.grants) open.add(id);
        return taken;
      } finally {
        left += reserved - used;
      }
    },
    async settle(grant, settlement) {
      try {
        await budget.settle(grant, settlement);
      } finally {
        close([grant.id]);
      }
    },
    async release(grants) {
      left += grants.length;
      try {
        await budget.release(grants);
      } finally {
        close(grants.map(grant => grant.id));
      }
    },
  });
}
