import { createHash } from 'node:crypto';
import type { Database } from '../../warehouse/database/database.ts';
import type { Budget } from '../budget.ts';
import type { Forecast } from '../forecast.ts';
import { type Decision, decide, deferred } from '../policy.ts';
import { readForecast } from './forecast.ts';
import { createSettling } from './settle.ts';
import { claim, clampToClock, createKey, type LedgerKey, type LedgerState, readUntilFreeMs } from './state.ts';
import { readUsage, type Usage } from './usage.ts';

export interface Ledger extends Budget {
  usage(): Promise<Usage>;
  forecast(): Promise<Forecast>;
}

/** The name of an API key in tables, which never hold the key itself. The prefix keeps it from matching a plain hash made elsewhere. */
export function budgetKey(apiKey: string): string {
  return createHash('sha256').update(`sluice api key\n${apiKey}`).digest('hex');
}

/**
 * The budget of one API key in Postgres, shared by every process on this database; only `sluice.now()` tells its time.
 *
 * A request counts from its grant until `windowMs` after its answer, or until grant + `timeoutMs` + `windowMs` when no answer was
 * recorded (a crash): whenever the server counted it, the server's window lies within ours. Where processes on one key have different
 * limits, the lowest used during the last window holds. Windows are not compared: configure one window per key.
 */
export function createLedger(options: {
  database: Database;
  source: string;
  apiKey: string;
  /** Requests per window, e.g. 1000. */
  limit: number;
  windowMs: number;
  /** The longest a request may take from its grant to the end of its answer. */
  timeoutMs: number;
}): Ledger {
  const { database, source, limit, windowMs, timeoutMs } = options;
  const ledger: LedgerKey = { key: budgetKey(options.apiKey), source, limit, windowMs, timeoutMs };
  const settle = createSettling(database, ledger);

  return {
    async take(lane, want, kept = 0) {
      for (;;) {
        const claimed = await claim(database, ledger, lane, want, kept);
        if (claimed === null) {
          await createKey(database, ledger);
          continue;
        }
        const { state, allowed, grants } = claimed;
        if (state.clockWasAhead) await clampToClock(database, ledger, state);
        if (grants.length > 0) return { grants, waitMs: 0 };
        // Another claim came in between.
        if (allowed > 0) continue;
        return deferred(...(await waitOf(state, decide(state, lane, want, kept))));
      }
    },
    settle: (grant, settlement) => settle({ grant, settlement }),
    async release(grants) {
      if (grants.length > 0) await database.query(RELEASE, [ledger.key, grants.map(grant => grant.id)]);
    },
    usage: () => readUsage(database, ledger),
    forecast: () => readForecast(database, ledger),
  };

  async function waitOf(state: LedgerState, decision: Decision): Promise<Parameters<typeof deferred>> {
    if (decision.kind === 'full')
      return [await readUntilFreeMs(database, ledger.key, state, decision.missing, decision.of)];
    // The statement rounds times otherwise: what it did not grant yet, it will.
    return decision.kind === 'wait' ? [decision.waitMs, decision.paced] : [0];
  }
}

const RELEASE = 'delete from sluice.requests where key = $1 and id = any($2::bigint[]) and settled_at is null';
