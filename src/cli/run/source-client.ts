import { createMemoryBudget } from '../../budget/memory-budget.ts';
import type { Clock } from '../../clock.ts';
import type { SourceSettings } from '../../config/config.ts';
import { type Client, openClient } from '../../source/client.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { limitText, NOTICED_MS, retryText, SAME_WAIT_MS } from '../output/moments.ts';
import type { Session } from '../session/session.ts';
import { openLedger } from '../session/source-settings.ts';
import type { Terminal } from '../session/terminal.ts';

/**
 * Runs `work` with a client of the source, within the budget of all processes if there is a database. `waitsAs`: the name under which it
 * reports waits. Default: none is reported.
 */
export async function withClient<T>(
  { terminal, clock, log }: Pick<Session, 'terminal' | 'clock' | 'log'>,
  given: { database: Database | undefined; name: string; settings: SourceSettings; noWait: boolean; waitsAs?: string },
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const { database, name, settings, noWait, waitsAs } = given;
  const { limit, windowMs, timeZone } = settings;
  const budget = database ? openLedger(database, name, settings) : createMemoryBudget({ clock, limit, windowMs });
  const note = waitsAs === undefined ? {} : createWaitNote(terminal, clock, waitsAs, timeZone);
  const client = openClient({ ...settings, ...note, budget, noWait, clock, log });
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

/** Prints one line for each noticeable wait: why, and until when. */
export function createWaitNote(terminal: Pick<Terminal, 'note'>, clock: Clock, name: string, timeZone: string) {
  let until = 0;
  const note = (waitMs: number, text: (at: number, timeZone: string) => string) => {
    const at = clock.now() + waitMs;
    if (waitMs < NOTICED_MS || Math.abs(at - until) < SAME_WAIT_MS) return;
    until = at;
    terminal.note(`${name}: ${text(at, timeZone)}`);
  };
  return {
    onWait: (_lane: unknown, waitMs: number) => note(waitMs, limitText),
    onRetry: (came: string, waitMs: number) => note(waitMs, (at, zone) => retryText(came, at, zone)),
  };
}
