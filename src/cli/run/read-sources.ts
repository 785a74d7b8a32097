import pLimit, { type LimitFunction } from 'p-limit';
import type { Budget } from '../../budget/budget.ts';
import type { LoopEvent } from '../../engine/run/engine.ts';
import { SluiceError } from '../../errors.ts';
import type { OrderRequest } from '../../service/orders/order-requests.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { lagText } from '../output/moments.ts';
import { createProgress, type Progress } from '../output/progress.ts';
import type { Session } from '../session/session.ts';
import { isOpen, isServiceRunning, type OpenSource, recognise } from '../session/source-settings.ts';
import { estimateText, estimateWork, type Work } from './estimate-work.ts';
import { openMigrated } from './pending-migrations.ts';
import { completeOrders, limitConnections, type OrderResult, openSourceEngine } from './read-source.ts';

export interface ReadResult {
  readonly results: readonly OrderResult[];
  readonly failed: readonly { readonly source: string; readonly error: SluiceError }[];
}

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
 * side, as many as Postgres has connections for, so that none waits for another's request limit. If there is only one source,
 * its error is thrown.
 */
export async function readSources(
  session: Session,
  requests: readonly OrderRequest[],
  options: ReadOptions,
): Promise<ReadResult> {
  const { settings, terminal, signal } = session;
  const { noWait, moved = false, maxRequests = null, announced, repair = false } = options;
  const sources = settings.sources.filter(isOpen);
  const hasSeveral = sources.length > 1;
  const database = await openMigrated(session);
  const atOnce = await limitConnections(database, sources.length);
  if (atOnce < sources.length)
    terminal.note(
      `Reading ${atOnce} of ${sources.length} sources at a time, because Postgres has no connections for more.`,
    );
  const limited = maxRequests === null ? undefined : limitRequests(maxRequests);
  const inTurn = pLimit(atOnce);
  const all = createProgress(session);
  const reading = sources.map(async source => {
    await recognise(database, source, moved);
    if (announced) {
      const estimate = await estimateWork(session, database, source, announced);
      const lag = repair ? lagText(source.settings.lagMs) : '';
      const text = `${estimateText(estimate, source.timeZone, maxRequests)}${lag}`;
      terminal.note(hasSeveral ? `${source.name}: ${text}` : text);
    }
    const progress = all.of(hasSeveral ? source.name : null, source.timeZone);
    return completeAt(session, { database, source, progress, noWait, limited, inTurn }, requests);
  });
  const ended = await Promise.allSettled(reading).finally(() => all.stop());
  const results: OrderResult[] = [];
  const failed: { source: string; error: SluiceError }[] = [];
  for (const [index, outcome] of ended.entries()) {
    const { name = '' } = sources[index] ?? {};
    if (outcome.status === 'fulfilled') results.push(...outcome.value);
    else if (hasSeveral && !signal.aborted && outcome.reason instanceof SluiceError)
      failed.push({ source: name, error: outcome.reason });
    else throw outcome.reason;
  }
  return { results, failed };
}

interface SourceReading {
  readonly database: Database;
  readonly source: OpenSource;
  readonly noWait: boolean;
  readonly limited?: ((budget: Budget) => Budget) | undefined;
  readonly inTurn?: LimitFunction | undefined;
}

/** Completes the orders of one source with the session's settings, and shows the progress of that source alone. */
export function readSource(
  session: Session,
  given: SourceReading,
  requests: readonly OrderRequest[],
): Promise<OrderResult[]> {
  const shown = createProgress(session);
  const progress = shown.of(null, given.source.timeZone);
  return completeAt(session, { ...given, progress }, requests).finally(() => shown.stop());
}

function completeAt(
  session: Session,
  given: SourceReading & { readonly progress: Progress },
  requests: readonly OrderRequest[],
): Promise<OrderResult[]> {
  const { database, source, progress } = given;
  const { name, timeZone } = source;
  // The schedule of a running service is served too, without a word: its progress is in the log of the service.
  const onEvent = (event: LoopEvent) => {
    if (!('task' in event) || event.task.orderId !== null) progress.onEvent(event);
  };
  return completeOrders(
    {
      ...session,
      ...given,
      ...{ source: name, timeZone },
      isServiceRunning: () => isServiceRunning(database, name),
      openEngine: () => openSourceEngine(session, { ...given, onEvent }),
    },
    requests,
  );
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
