import { HOUR } from '../../clock.ts';
import { isAffordable, rereadCost } from '../../engine/agenda/affordable.ts';
import { openResource } from '../../engine/resource.ts';
import { SluiceError } from '../../errors.ts';
import type { ReadBack } from '../../push/reconcile.ts';
import type { OrderRequest } from '../../service/orders/order-requests.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { createProgress } from '../output/progress.ts';
import { readSource } from '../run/read-source.ts';
import type { Session } from '../session/session.ts';
import type { OpenSource } from '../session/source-settings.ts';

/** Reads a list as sync and backfill do. Kind `failed` if that fails. */
export function createReadBack(given: {
  session: Session;
  database: Database;
  source: OpenSource;
  name: string;
  noWait: boolean;
}): ReadBack {
  const { session, database, source, name, noWait } = given;
  const { terminal, clock } = session;
  return async ask => {
    const request: OrderRequest =
      ask === 'newest'
        ? { resource: name, kind: 'sync', whole: await isShort(session, database, source, name) }
        : { resource: name, kind: 'backfill', dateFrom: ask.from, dateTo: ask.to };
    const shown = createProgress({ terminal, clock });
    try {
      const progress = shown.of(null, source.timeZone);
      const results = await readSource(session, { database, source, progress, noWait }, [request]);
      const bad = results.find(({ order }) => order.state !== 'done');
      if (!bad) return;
      throw new SluiceError(
        'failed',
        `${name} could not be read back: ${bad.order.reason ?? `the order is ${bad.order.state}`}`,
        { next: 'The push has recorded what was created. Run the same command again to continue.' },
      );
    } finally {
      shown.stop();
    }
  };
}

/**
 * The whole list costs at most half of the hourly limit. It is read then even if that means to wait: in some orders, a created row may
 * stand anywhere.
 */
async function isShort({ jobs }: Session, database: Database, source: OpenSource, name: string): Promise<boolean> {
  const job = jobs.get(name);
  if (!job) return false;
  const list = await openResource(database, { source: source.name, name, job, schema: source.schema });
  const hourly = (source.limit * HOUR) / source.windowMs;
  return isAffordable(rereadCost(list, Number.POSITIVE_INFINITY), { hourly, free: hourly });
}
