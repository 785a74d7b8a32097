import pLimit from 'p-limit';
import { SluiceError } from '../../errors.ts';
import type { Session } from '../cli.ts';
import { createProgress } from '../output/progress.ts';
import { isOpen, recognise } from '../source-settings.ts';
import { bringUpToDate } from './pending-migrations.ts';
import { makeRoom } from './release-embedded.ts';
import type { Served, Wish } from './serve-orders.ts';
import { serveSource } from './serve-source.ts';

/** What was read, and the sources that could not be. */
export interface Read {
  readonly served: readonly Served[];
  readonly failed: readonly { readonly source: string; readonly error: SluiceError }[];
}

/**
 * Brings the warehouse up to date and has the wishes read of every source: what sync, backfill and verify share. Sources are
 * read side by side, as many as Postgres has room for, so that none waits for the key or the limit of another; what stops the
 * only one is thrown.
 */
export async function read(
  session: Session,
  wishes: readonly Wish[],
  options: { noWait: boolean; moved?: boolean },
): Promise<Read> {
  const { settings, terminal, clock, signal } = session;
  const { noWait, moved = false } = options;
  const sources = settings.sources.filter(isOpen);
  const several = sources.length > 1;
  const database = await session.openDatabase();
  await bringUpToDate(session, database);
  const readings = await makeRoom(database, sources.length);
  if (readings < sources.length)
    terminal.note(
      `${readings} of ${sources.length} sources are read at a time, because each takes connections of Postgres.`,
    );
  const inTurn = pLimit(readings);
  const all = createProgress({ terminal, clock });
  const reading = sources.map(async source => {
    await recognise(database, source, moved);
    const progress = all.of(several ? source.name : null, source.timeZone);
    return serveSource(session, { database, source, progress, noWait, inTurn }, wishes);
  });
  const ended = await Promise.allSettled(reading).finally(() => all.stop());
  const served: Served[] = [];
  const failed: { source: string; error: SluiceError }[] = [];
  for (const [index, outcome] of ended.entries()) {
    const { name = '' } = sources[index] ?? {};
    if (outcome.status === 'fulfilled') served.push(...outcome.value);
    else if (several && !signal.aborted && outcome.reason instanceof SluiceError)
      failed.push({ source: name, error: outcome.reason });
    else throw outcome.reason;
  }
  return { served, failed };
}
