import { type Kysely, sql } from 'kysely';

/** What `\d+` and the console show beside each table, and beside those of its columns that do not speak for themselves. */
const TABLES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  customers: {
    '': 'The customers of the source, one row each.',
    id: 'The customer at the source; invoices.customer_id, quotes.customer_id and tickets.customer_id name it.',
    account: 'Name of the person or company.',
    created_at: 'As the source reports it.',
    updated_at: 'As the source reports it.',
  },
  invoices: {
    '': 'The invoices of the source, one row each; their items are in invoice_items.',
    invoice_number: 'The number that people see.',
    customer_id: 'customers.id',
    status: 'As the source calls it, such as Unpaid, Partially Paid or Paid.',
  },
  invoice_items: {
    '': 'The items of invoices; replaced and deleted together with their invoice.',
    invoice_id: 'invoices.id',
    line: 'Position in the invoice, from 1.',
  },
  transactions: {
    '': 'The transactions of the source, one row each.',
    type: 'Such as Income or Expense.',
  },
  products: { '': 'The products of the source, one row each.', type: 'service for a service.' },
  quotes: {
    '': 'The quotes of the source, one row each; their items are in quote_items.',
    customer_id: 'customers.id',
  },
  quote_items: {
    '': 'The items of quotes; replaced and deleted together with their quote.',
    quote_key: 'quotes._key',
    line: 'Position in the quote, from 1.',
  },
  tickets: {
    '': 'The tickets of the source, one row each.',
    customer_id: 'customers.id',
    status: 'Such as Open, Pending or Closed.',
  },
  users: { '': 'The users of the source, one row each.' },
  financial_summaries: {
    '': "What the source's own financial report says about each month.",
    period: 'The month as YYYY-MM.',
  },
  orders: { '': 'The orders of the source; its documentation shows no fields, so each row is kept whole.' },
  suppliers: { '': 'The suppliers of the source; its documentation shows no fields, so each row is kept whole.' },
  purchases: { '': 'The purchases of the source; its documentation shows no fields, so each row is kept whole.' },
  row_history: {
    '': 'Rows that were deleted at the source and, where the job asks for it, earlier versions of changed rows.',
    key: 'The key of the row, as text.',
    row: 'All its columns as JSON, with its child rows in a list.',
    valid_from: 'From its last change here ..',
    valid_to: '.. until it was deleted or changed.',
    ended_by: 'deleted or changed',
    run_id: 'The run that ended it: sluice.runs.',
  },
};

/** Columns that mean the same in every table. */
const COLUMNS: Readonly<Record<string, string>> = {
  _key: "Primary key: the source's id if it gives one, else # and a hash of the fields with a number that tells equal rows apart.",
  _hash: 'Hash of the record with its items; tells an unchanged row without comparing each column.',
  _extra: 'Fields that the job does not declare, as JSON; null when there are none.',
  _synced_at: 'When the row last changed here; indexed.',
  _read_at: 'When the request that brought this version of the row was granted.',
  record: 'The row as received, as JSON.',
};

export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ table: string; column: string }>`
    select c.relname as table, a.attname as column from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped`.execute(
    db,
  );
  for (const table of new Set(rows.map(row => row.table))) {
    const text = TABLES[table]?.[''];
    if (text !== undefined) await sql`comment on table ${sql.id(table)} is ${sql.lit(text)}`.execute(db);
  }
  for (const { table, column } of rows) {
    const text = TABLES[table]?.[column] ?? COLUMNS[column];
    if (text !== undefined) await sql`comment on column ${sql.id(table, column)} is ${sql.lit(text)}`.execute(db);
  }
}
