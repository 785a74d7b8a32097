import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../../src/warehouse/database/database.ts';

export interface Seen {
  readonly [column: string]: unknown;
  readonly number: number;
}

/** The whole log as it is stored. */
export const readLog = async (query: Database['query'], after = 0): Promise<Seen[]> =>
  (
    await query<Seen>(
      'select number::int, resource, key, kind, earliest, seen_at, run_id from warehouse.change_log where number > $1 order by number',
      [after],
    )
  ).rows;

/**
 * Reads the log as a program does that keeps the last number it has processed, until it is stopped. `problems`: numbers that did not follow
 * the one before.
 */
export function followLog(query: Database['query']): { stop(): Promise<{ seen: Seen[]; problems: string[] }> } {
  const seen: Seen[] = [];
  const problems: string[] = [];
  let isStopped = false;
  const read = async () => {
    for (const row of await readLog(query, seen.at(-1)?.number)) {
      const last = seen.at(-1)?.number ?? 0;
      if (row.number !== last + 1) problems.push(`${row.number} came after ${last}`);
      seen.push(row);
    }
  };
  const following = (async () => {
    while (!isStopped) {
      await read();
      await delay(100);
    }
    await read();
  })();
  // Whoever stops it gets the error.
  following.catch(() => undefined);
  return {
    async stop() {
      isStopped = true;
      await following;
      return { seen, problems };
    },
  };
}
