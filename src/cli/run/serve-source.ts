import type { LimitFunction } from 'p-limit';
import type { Database } from '../../warehouse/database/database.ts';
import type { Session } from '../cli.ts';
import type { Progress } from '../output/progress.ts';
import type { OpenSource } from '../source-settings.ts';
import { openEngine } from './open-engine.ts';
import { isServed } from './running-service.ts';
import { type Served, serveOrders, type Wish } from './serve-orders.ts';

/** Has the wishes read of one source with the session's settings: here, or by following the process that reads it. */
export function serveSource(
  session: Session,
  given: {
    database: Database;
    source: OpenSource;
    progress: Progress;
    noWait: boolean;
    inTurn?: LimitFunction | undefined;
  },
  wishes: readonly Wish[],
): Promise<Served[]> {
  const { terminal, clock, log, jobs, signal, settings } = session;
  const { database, source, progress, noWait, inTurn } = given;
  const { retention } = settings;
  const { onEvent } = progress;
  return serveOrders(
    {
      terminal,
      database,
      source: source.name,
      timeZone: source.timeZone,
      clock,
      signal,
      noWait,
      progress,
      inTurn,
      isServed: () => isServed(database, source.name),
      openEngine: () => openEngine({ database, source, jobs, retention, clock, log, noWait, onEvent }),
    },
    wishes,
  );
}
