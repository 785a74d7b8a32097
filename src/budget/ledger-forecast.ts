import type { Database } from '../warehouse/database/database.ts';
import { type Forecast, forecastOf, STEPS } from './forecast.ts';
import { type LedgerKey, readState } from './ledger-state.ts';

/** What a key has left, and when more stops counting. */
export function readForecast(database: Database, ledger: LedgerKey): Promise<Forecast> {
  const { key, windowMs } = ledger;
  return database.transaction(
    async transaction => {
      const state = await readState(transaction, ledger);
      const { rows } = await transaction.query<EndingRow>(ENDING, [key, state.now, windowMs, STEPS], 'ledger forecast');
      return forecastOf(state, new Map(rows.map(({ step, requests }) => [step, requests])));
    },
    // A prepared statement keeps the plan it got, and `take` shares this one.
    { seqscan: false },
  );
}

interface EndingRow {
  readonly [column: string]: unknown;
  readonly step: number;
  readonly requests: number;
}

// A request in flight may be answered now, and would then count for one more window.
const ENDING = `
  select least(ceil(extract(epoch from counts_until - $2::timestamptz) * 1000 * $4::int / $3::float8), $4::int)::int as step,
    count(*)::int as requests
  from sluice.requests where key = $1 and counts_until > $2::timestamptz
  group by 1`;
