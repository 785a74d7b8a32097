import { createMemoryBudget } from '../../budget/memory-budget.ts';
import type { SourceSettings } from '../../config/config.ts';
import { SluiceError } from '../../errors.ts';
import { type Client, openClient } from '../../source/client.ts';
import type { Database } from '../../warehouse/database/database.ts';
import type { Session } from '../session/session.ts';
import { openLedger } from '../session/source-settings.ts';

export interface Check {
  readonly check: string;
  readonly ok: boolean;
  readonly found: string;
  readonly next?: string | undefined;
}

/** Sends one request. */
export async function checkAnswer(
  session: Session,
  name: string,
  source: SourceSettings,
  database: Database | undefined,
  note: (check: Check) => void,
): Promise<void> {
  const { jobs, signal } = session;
  const reachable = { check: 'source', ok: true, found: `answers at ${new URL(source.url).host}` };
  const client = openSource(session, name, source, database);
  try {
    const path = [...jobs.values()][0]?.path ?? '/';
    const context = { lane: 'live' as const, purpose: 'doctor', attempts: 1, signal };
    const answer = await client.list(path, {}, { page: 1, limit: 1 }, context);
    const total = answer.kind === 'rows' ? answer.meta?.totalRecords : undefined;
    note(reachable);
    note({ check: 'key', ok: true, found: `accepted${total === undefined ? '' : `; ${path} has ${total} records`}` });
    if (answer.kind === 'gone')
      note({
        check: 'list',
        ok: false,
        found: `the source has no ${path}`,
        next: 'Set SOURCE_URL to the part of the address before /api/v2.',
      });
  } catch (error) {
    if (!(error instanceof SluiceError) || error.kind === 'stopped') throw error;
    // A source that rejects the key has been reached.
    const isReached = error.kind === 'unauthorized' || error.kind === 'refused';
    if (isReached) note(reachable);
    const check = error.kind === 'quota' ? 'quota' : isReached ? 'key' : 'source';
    note({ check, ok: false, found: error.message, next: error.next });
  } finally {
    await client.close();
  }
}

function openSource(
  { clock, log }: Session,
  name: string,
  source: SourceSettings,
  database: Database | undefined,
): Client {
  const { limit, windowMs } = source;
  const budget = database ? openLedger(database, name, source) : createMemoryBudget({ clock, limit, windowMs });
  return openClient({ ...source, budget, noWait: true, clock, log });
}
