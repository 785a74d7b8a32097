import { z } from 'zod';
import { date, decimal, defineJob, integer, list, text, timestamp } from '../../src/engine/job.ts';
import { declareTable } from '../../src/engine/records/declare-table.ts';
import type { Database, Transaction } from '../../src/warehouse/database/database.ts';
import { markMissing } from '../../src/warehouse/rows/missing-rows.ts';
import { type Table, tableIn } from '../../src/warehouse/rows/tables.ts';
import type { Row } from '../../src/warehouse/rows/write/row.ts';
import { writeRows } from '../../src/warehouse/rows/write/write-rows.ts';

const job = defineJob({
  path: '/parcels',
  key: 'id',
  withoutKey: 'quarantine',
  record: z.object({
    id: integer(),
    name: text(),
    price: decimal(),
    sent: date(),
    seen_at: timestamp(),
    parts: list(z.object({ label: text(), weight: decimal() })),
  }),
  children: { parts: { table: 'parcel_parts', parent: 'parcel_id' } },
  slicings: [],
});

/** A table with all that a table can have: children, a hash, every type of column. */
export async function createParcels(database: Database, options: { history?: boolean } = {}): Promise<Table> {
  await database.query(`create table warehouse.parcels (id bigint primary key, name text, price numeric, sent date,
    seen_at timestamptz, _hash bytea, _extra jsonb, _synced_at timestamptz not null, _read_at timestamptz not null)`);
  await database.query(`create table warehouse.parcel_parts (parcel_id bigint not null, line integer not null, label text,
    weight numeric, _extra jsonb, primary key (parcel_id, line))`);
  return tableIn('warehouse', declareTable('parcels', { ...job, history: options.history ?? false }));
}

/** Grant time of the nth request. */
export const readAtOf = (n: number): string =>
  new Date(Date.UTC(2026, 0, 15) + n * 1000).toISOString().replace('T', ' ').replace('.000Z', '+00');

/** A row as the parser makes it; the hash is of all that is given. */
export function parcel(
  id: number,
  given: { name?: string | null; price?: string | null; sent?: string | null; seen_at?: string | null },
  options: { parts?: { label: string | null; weight: string | null }[]; extra?: unknown; at?: number } = {},
): Row {
  const children = options.parts
    ? { parts: options.parts.map(values => ({ values, extra: null as string | null })) }
    : {};
  const extra = options.extra === undefined ? null : JSON.stringify(options.extra);
  const values = { id: String(id), ...given };
  return {
    key: String(id),
    values,
    children,
    extra,
    hash: Buffer.from(JSON.stringify([values, children, extra]))
      .toString('hex')
      .slice(0, 2000),
    readAt: readAtOf(options.at ?? 0),
  };
}

export const inTransaction = <T>(database: Database, fn: (tx: Transaction) => Promise<T>): Promise<T> =>
  database.transaction(fn);

/** Every row with its children, as people see them. */
export async function contentOf(database: Database): Promise<unknown[]> {
  const { rows } = await database.query(`select p.id, name, price, sent, seen_at, p._extra,
    (select coalesce(jsonb_agg(jsonb_build_array(line, label, weight) order by line), '[]') from warehouse.parcel_parts c
      where c.parcel_id = p.id) as parts from warehouse.parcels p order by p.id`);
  return rows;
}

/** Changes whenever a row is written or even locked. */
export async function marksOf(database: Database): Promise<unknown[]> {
  const { rows } = await database.query(`
    select 'parcel' as of, id, 0 as line, ctid::text, xmin::text, xmax::text from warehouse.parcels
    union all select 'part', parcel_id, line, ctid::text, xmin::text, xmax::text from warehouse.parcel_parts
    order by 1, 2, 3`);
  return rows;
}

/** Where the bookkeeping keeps the parcels. */
export const PARCELS = { source: 'main', resource: 'parcels' };

export const parcelKeys = (count: number, from = 1): string[] =>
  Array.from({ length: count }, (_, index) => String(from + index));

/** Stores parcels 1 to `count`, each with one part. */
export const storeParcels = (database: Database, table: Table, count: number) =>
  inTransaction(database, tx =>
    writeRows(
      tx,
      table,
      parcelKeys(count).map(key =>
        parcel(Number(key), { name: `n${key}` }, { parts: [{ label: `p${key}`, weight: '1.5' }] }),
      ),
      { resource: PARCELS.resource, runId: null, deep: false },
    ),
  );

/** Marks parcels missing, as a reading of the slice from one moment to another: the numbers of their grants. */
export const missParcels = (database: Database, keys: readonly string[], slice = 'id 1..10', [start, end] = [1, 1]) =>
  inTransaction(database, tx =>
    markMissing(tx, PARCELS, keys, {
      ...{ slice, startedAt: readAtOf(start), endedAt: readAtOf(end) },
      ...{ lagMs: 0, provenBefore: null },
    }),
  );
