import { SluiceError } from '../errors.ts';
import { migrate } from '../warehouse/migrate.ts';
import type { Session } from './cli.ts';
import { openEngine } from './open-engine.ts';
import { type Served, serveOrders, type Wish } from './serve-orders.ts';

/** Brings the warehouse up to date and has the wishes read: what sync, backfill and verify share. */
export async function read(session: Session, wishes: readonly Wish[], options: { noWait: boolean }): Promise<Served[]> {
  const { settings, jobs, terminal, clock, log, signal } = session;
  const { source } = settings;
  if (!source) throw new SluiceError('configuration', 'SOURCE_URL and SOURCE_API_KEY are not set.');
  const database = await session.openDatabase();
  await migrate(session.migrations(database));
  const { noWait } = options;
  return serveOrders(
    {
      terminal,
      database,
      source: settings.sourceName,
      clock,
      signal,
      noWait,
      openEngine: onEvent =>
        openEngine({
          database,
          name: settings.sourceName,
          source,
          jobs,
          schema: settings.schema,
          clock,
          log,
          noWait,
          onEvent,
        }),
    },
    wishes,
  );
}
