import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database } from '../database/database.ts';

const LOOK_MS = 50;

/**
 * Whether the server of `reader` shows all that was written by now: a replica may lag behind. Waits for that, for `waitMs` at most. Rejects with
 * the signal's reason.
 */
export async function showsAllWritten(
  {
    database,
    reader,
    signal,
  }: { readonly database: Database; readonly reader: Database; readonly signal: AbortSignal },
  waitMs: number,
): Promise<boolean> {
  const { rows } = await sql<{ isReplica: boolean }>`select pg_is_in_recovery() as "isReplica"`.execute(reader.kysely);
  if (!rows[0]?.isReplica) return true;
  const { rows: written } = await sql<{ to: string }>`select pg_current_wal_lsn()::text as "to"`.execute(
    database.kysely,
  );
  const until = performance.now() + waitMs;
  for (;;) {
    const { rows: shown } = await sql<{ all: boolean | null }>`
      select not pg_is_in_recovery() or pg_last_wal_replay_lsn() >= cast(${written[0]?.to} as pg_lsn) as "all"`.execute(
      reader.kysely,
    );
    if (shown[0]?.all) return true;
    if (performance.now() >= until) return false;
    await delay(LOOK_MS, undefined, { signal });
  }
}
