import { type Kysely, sql } from 'kysely';
import { createHistoryView } from '../create-history-view.ts';

const CHILDREN = {
  invoices: { field: 'items', table: 'invoice_items', parent: 'invoice_id' },
  quotes: { field: 'items', table: 'quote_items', parent: 'quote_key' },
};

/** The tables of lists are those that tell when a row last changed. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ table: string }>`
    select c.relname as table from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = '_synced_at'
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') order by 1`.execute(db);
  for (const { table } of rows) await createHistoryView(db, table, CHILDREN[table as keyof typeof CHILDREN]);
}
