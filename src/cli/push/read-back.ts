import { SluiceError } from '../../errors.ts';
import type { ReadBack } from '../../push/settle.ts';
import type { Database } from '../../warehouse/database/database.ts';
import type { Session } from '../cli.ts';
import { createProgress } from '../output/progress.ts';
import type { Wish } from '../run/serve-orders.ts';
import { serveSource } from '../run/serve-source.ts';
import type { OpenSource } from '../source-settings.ts';

/** Reads a list as sync and backfill do: here, or by following the process that reads the source. Kind `failed` when it did not end well. */
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
    const wish: Wish =
      ask === 'newest'
        ? { resource: name, kind: 'sync' }
        : { resource: name, kind: 'backfill', dateFrom: ask.from, dateTo: ask.to };
    const shown = createProgress({ terminal, clock });
    try {
      const progress = shown.of(null, source.timeZone);
      const served = await serveSource(session, { database, source, progress, noWait }, [wish]);
      const bad = served.find(({ order }) => order.state !== 'done');
      if (!bad) return;
      throw new SluiceError(
        'failed',
        `${name} could not be read back: ${bad.order.reason ?? `its reading was ${bad.order.state}`}`,
        { next: 'What was created is in the log; the same command goes on with looking for it.' },
      );
    } finally {
      shown.stop();
    }
  };
}
