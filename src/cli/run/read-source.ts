import type { LimitFunction } from 'p-limit';
import type { Budget } from '../../budget/budget.ts';
import type { LoopEvent } from '../../engine/run/engine.ts';
import type { OrderRequest } from '../../service/orders/order-requests.ts';
import type { Database } from '../../warehouse/database/database.ts';
import type { Progress } from '../output/progress.ts';
import type { Session } from '../session/session.ts';
import type { OpenSource } from '../session/source-settings.ts';
import { completeOrders, type OrderResult } from './complete-orders.ts';
import { openSourceEngine } from './open-source-engine.ts';
import { isServiceRunning } from './running-service.ts';

/** Completes the orders of one source with the session's settings. */
export function readSource(
  session: Session,
  given: {
    database: Database;
    source: OpenSource;
    progress: Progress;
    noWait: boolean;
    limited?: ((budget: Budget) => Budget) | undefined;
    inTurn?: LimitFunction | undefined;
  },
  requests: readonly OrderRequest[],
): Promise<OrderResult[]> {
  const { command, terminal, clock, log, jobs, signal, settings } = session;
  const { database, source, progress, noWait, limited, inTurn } = given;
  const { retention } = settings;
  // The schedule of a running service is served too, without a word: its progress is in the log of the service.
  const onEvent = (event: LoopEvent) => {
    if (!('task' in event) || event.task.orderId !== null) progress.onEvent(event);
  };
  const { name, timeZone } = source;
  return completeOrders(
    {
      ...{ command, terminal, database, source: name, timeZone, clock, signal, noWait, progress, inTurn },
      isServiceRunning: () => isServiceRunning(database, name),
      openEngine: () => openSourceEngine({ database, source, jobs, retention, clock, log, noWait, limited, onEvent }),
    },
    requests,
  );
}
