import type { Database } from '../../../src/warehouse/database/database.ts';
import { scheduled } from '../../support/resources.ts';

/** The first start reads at once; the next schedule tick is months away. */
export const RARELY = scheduled('0 0 1 1 *');
export const SOURCE = {
  size: { customers: 300, invoices: 2000, transactions: 2000 },
  latencyMs: 15,
  today: '2026-03-15',
};

export async function doneSlots(database: Database): Promise<number> {
  const { rows } = await database.query<{ n: number }>(
    "select count(distinct (source, resource))::int as n from sluice.runs where kind = 'slot' and state = 'done'",
  );
  return rows[0]?.n ?? 0;
}

export async function waitingRuns(database: Database): Promise<number> {
  const { rows } = await database.query<{ n: number }>(
    "select count(*)::int as n from sluice.runs where state = 'waiting' and waiting_until > sluice.now()",
  );
  return rows[0]?.n ?? 0;
}

export async function openRuns(database: Database): Promise<unknown[]> {
  const { rows } = await database.query(
    "select id, resource from sluice.runs where ended_at is null and state = 'running'",
  );
  return rows;
}

/** Connections of this name. */
export async function sessions(database: Database, name: string): Promise<number> {
  const { rows } = await database.query<{ n: number }>(
    `select count(*)::int as n from pg_stat_activity where datname = current_database() and application_name = $1`,
    [name],
  );
  return rows[0]?.n ?? 0;
}
