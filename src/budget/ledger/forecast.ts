import type { Database } from '../../warehouse/database/database.ts';
import { type Forecast, forecastOf, STEPS } from '../forecast.ts';
import { type LedgerKey, STATE_CTES, type StateRow, stateOf } from './state.ts';

/** What a key has left, and when more stops counting. */
export async function readForecast(database: Database, ledger: LedgerKey): Promise<Forecast> {
  const { key, limit, windowMs, timeoutMs } = ledger;
  const parameters = [key, limit, windowMs, timeoutMs, STEPS];
  const { rows } = await database.query<ForecastRow>(FORECAST, parameters);
  const ending = Object.entries(rows[0]?.ending ?? {}).map(([step, requests]) => [Number(step), requests] as const);
  return forecastOf(stateOf(rows[0], ledger), new Map(ending));
}

interface ForecastRow extends StateRow {
  /** Requests by step, from 1. */
  readonly ending: Readonly<Record<string, number>> | null;
}

// A request in flight may be answered now, and would then count for one more window.
const FORECAST = `
  with ${STATE_CTES},
  ending as (
    select least(ceil(extract(epoch from counts_until - now) * 1000 * $5::int / $3::float8), $5::int)::int as step,
      count(*)::int as requests
    from clock, sluice.requests where key = $1 and counts_until > now
    group by 1)
  select *, (select json_object_agg(step, requests) from ending) as ending from state`;
