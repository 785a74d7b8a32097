import pLimit from 'p-limit';
import { SluiceError } from '../../errors.ts';
import type { OrderRequest } from '../../service/orders/order-requests.ts';
import { estimateText } from '../estimate/estimate-text.ts';
import { estimateWork, type Work } from '../estimate/estimate-work.ts';
import { createProgress } from '../output/progress.ts';
import { lagText } from '../output/wait-note.ts';
import type { Session } from '../session/session.ts';
import { isOpen, recognise } from '../session/source-settings.ts';
import type { OrderResult } from './complete-orders.ts';
import { limitConnections } from './limit-connections.ts';
import { limitRequests } from './limit-requests.ts';
import { applyMigrations } from './pending-migrations.ts';
import { readSource } from './read-source.ts';

/** The orders that ended, and the sources that could not be read. */
export interface ReadResult {
  readonly results: readonly OrderResult[];
  readonly failed: readonly { readonly source: string; readonly error: SluiceError }[];
}

export interface ReadOptions {
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
  const { settings, terminal, clock, signal } = session;
  const { noWait, moved = false, maxRequests = null, announced, repair = false } = options;
  const sources = settings.sources.filter(isOpen);
  const hasSeveral = sources.length > 1;
  const database = await session.openDatabase();
  await applyMigrations(session, database);
  const atOnce = await limitConnections(database, sources.length);
  if (atOnce < sources.length)
    terminal.note(
      `Reading ${atOnce} of ${sources.length} sources at a time, because Postgres has no connections for more.`,
    );
  const limited = maxRequests === null ? undefined : limitRequests(maxRequests);
  const inTurn = pLimit(atOnce);
  const all = createProgress({ terminal, clock });
  const reading = sources.map(async source => {
    await recognise(database, source, moved);
    if (announced) {
      const estimate = await estimateWork(session, database, source, announced);
      const lag = repair ? lagText(source.settings.lagMs) : '';
      const text = `${estimateText(estimate, source.timeZone, maxRequests)}${lag}`;
      terminal.note(hasSeveral ? `${source.name}: ${text}` : text);
    }
    const progress = all.of(hasSeveral ? source.name : null, source.timeZone);
    return readSource(session, { database, source, progress, noWait, limited, inTurn }, requests);
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
