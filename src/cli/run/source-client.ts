import { createMemoryBudget } from '../../budget/memory-budget.ts';
import { type Client, openClient } from '../../source/client.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { createWaitNote } from '../output/progress.ts';
import type { OpenSource, Session } from '../session/session.ts';
import { limitsOf, openLedger } from '../session/source-settings.ts';

/**
 * Runs `work` with a client of the source, within the budget of all processes if there is a database. `waitsAs`: the name under which it
 * reports waits. Default: none is reported.
 */
export async function withClient<T>(
  { terminal, clock, log }: Pick<Session, 'terminal' | 'clock' | 'log'>,
  given: { database: Database | undefined; source: OpenSource; noWait: boolean; waitsAs?: string },
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const { database, source, noWait, waitsAs } = given;
  const budget = database ? openLedger(database, source) : createMemoryBudget({ clock, ...limitsOf(source) });
  const note = waitsAs === undefined ? {} : createWaitNote(terminal, clock, waitsAs, source.timeZone);
  const client = openClient({ ...source.settings, ...note, budget, noWait, clock, log });
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}
