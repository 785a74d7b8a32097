import { withAnySignal } from '../../any-signal.ts';
import type { Engine } from '../../engine/run/engine.ts';
import { runLoop } from '../../engine/run/loop.ts';
import type { Serves } from '../../engine/run/serves.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { acquireSourceLock, type SourceLock } from '../../warehouse/database/source-lock.ts';

/**
 * Runs the loop under the source's lock until nothing of what `servesUnder` names is due. Returns false at once if another process holds
 * the lock.
 */
export async function readUnderLock(
  reading: {
    database: Database;
    source: string;
    /** What others are told reads the source; null for a service. */
    command: string | null;
    signal: AbortSignal;
    openEngine(): Promise<Engine & { close(): Promise<void> }>;
  },
  servesUnder: (lock: SourceLock) => Serves,
): Promise<boolean> {
  const lock = await acquireSourceLock(reading.database, reading.source, reading.command);
  if (!lock) return false;
  try {
    const engine = await reading.openEngine();
    try {
      await withAnySignal([reading.signal, lock.lost], ({ signal }) => runLoop(engine, servesUnder(lock), signal));
    } finally {
      await engine.close();
    }
  } finally {
    await lock.release();
  }
  return true;
}
