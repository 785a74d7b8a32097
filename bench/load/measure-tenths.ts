import type { Database } from '../../src/warehouse/database/database.ts';

/** Records a second while the first and the last tenth of a first load were stored, by the time of their commits. */
export async function measureTenths(database: Database): Promise<{ first: number; last: number }> {
  const { rows } = await database.query<{ ms: number; stored: number }>(
    `select extract(epoch from _synced_at)::float8 * 1000 as ms, (sum(count(*)) over (order by _synced_at))::int as stored
    from (select _synced_at from warehouse.customers union all select _synced_at from warehouse.invoices
      union all select _synced_at from warehouse.transactions) stored
    group by _synced_at order by _synced_at`,
  );
  const all = rows.at(-1)?.stored ?? 0;
  const after = (share: number) => rows.find(row => row.stored >= share * all);
  const rate = (from = rows[0], to = rows[0]) =>
    from && to ? ((to.stored - from.stored) / (to.ms - from.ms)) * 1000 : Number.NaN;
  return { first: rate(rows[0], after(0.1)), last: rate(after(0.9), rows.at(-1)) };
}
