import { groupBy } from '../../src/engine/group-by.ts';
import type { Database, Row } from '../../src/warehouse/database/database.ts';
import { createEmptyClones } from './empty-clones.ts';

const KEYS: Readonly<Record<string, readonly string[]>> = {
  customers: ['id'],
  invoices: ['id'],
  invoice_items: ['invoice_id', 'line'],
  transactions: ['_key'],
};

interface StoredRow {
  readonly table: string;
  readonly row: Row;
}

/** An invoice comes with its items. */
type StoredRecord = readonly StoredRow[];

/** The baseline: one `insert .. on conflict` per row, one transaction per page. Measures a sample of `most` records. */
export async function timeRows(
  database: Database,
  options: { page: number; most: number },
): Promise<{ records: number; ms: number }> {
  const { page } = options;
  const records = await sample(database, options.most);
  await createEmptyClones(database, 'bench_rows');
  const started = performance.now();
  for (let from = 0; from < records.length; from += page) {
    await database.transaction(async tx => {
      for (const { table, row } of records.slice(from, from + page).flat())
        await tx.query(upsertInto(table, Object.keys(row)), Object.values(row));
    });
  }
  return { records: records.length, ms: performance.now() - started };
}

/** The first rows of each large list, as many as its part of all rows. */
async function sample(database: Database, most: number): Promise<StoredRecord[]> {
  const { rows } = await database.query<Record<string, number>>(
    `select (select count(*) from warehouse.customers)::int as customers,
      (select count(*) from warehouse.invoices)::int as invoices,
      (select count(*) from warehouse.transactions)::int as transactions`,
  );
  const { customers = 0, invoices = 0, transactions = 0 } = rows[0] ?? {};
  const share = Math.min(1, most / (customers + invoices + transactions));
  const first = async (table: string, count: number) => {
    const order = KEYS[table]?.join();
    const found = await database.query(`select * from warehouse.${table} order by ${order} limit $1`, [count]);
    return found.rows;
  };
  const items = await database.query(
    `select * from warehouse.invoice_items where invoice_id in (select id from warehouse.invoices order by id limit $1)`,
    [Math.round(share * invoices)],
  );
  const itemsOf = groupBy(items.rows, item => item.invoice_id);
  const records = (table: string, rows: readonly Row[]) => rows.map(row => [{ table, row }]);
  return [
    ...records('customers', await first('customers', Math.round(share * customers))),
    ...(await first('invoices', Math.round(share * invoices))).map(row => [
      { table: 'invoices', row },
      ...(itemsOf.get(row.id) ?? []).map(item => ({ table: 'invoice_items', row: item })),
    ]),
    ...records('transactions', await first('transactions', Math.round(share * transactions))),
  ];
}

function upsertInto(table: string, columns: readonly string[]): string {
  const keys = KEYS[table] ?? [];
  const values = columns.map((_, index) => `$${index + 1}`);
  const changed = columns.filter(column => !keys.includes(column)).map(column => `${column} = excluded.${column}`);
  return `insert into bench_rows.${table} (${columns.join()}) values (${values.join()})
    on conflict (${keys.join()}) do update set ${changed.join()}`;
}
