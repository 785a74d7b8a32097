import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import type { Database } from '../../src/warehouse/database.ts';

/** The first differences, in words; empty when warehouse and source are equal in every field of every row. */
export async function differences(database: Database, sandbox: Sandbox, most = 5): Promise<string[]> {
  const found: string[] = [];
  const compare = (table: string, expected: Map<string, string>, actual: Map<string, string>) => {
    for (const [key, text] of expected) {
      const stored = actual.get(key);
      if (stored === text) continue;
      // A source that writes "" for "none" means it: text keeps it, and the sandbox's own rows say null.
      if (sandbox.variants.none === 'empty' && stored?.replaceAll('""', 'null') === text.replaceAll('""', 'null'))
        continue;
      found.push(
        stored === undefined
          ? `${table} ${key} is absent`
          : `${table} ${key}\n  source    ${text}\n  warehouse ${stored}`,
      );
    }
    for (const key of actual.keys()) if (!expected.has(key)) found.push(`${table} ${key} is not at the source`);
  };
  const stored = async (sql: string) => {
    const { rows } = await database.query<{ key: string; row: unknown[] }>(sql);
    return new Map(rows.map(({ key, row }) => [key, JSON.stringify(row)]));
  };

  const stamped = sandbox.variants['customer-fields'] === 'full';
  const customers = new Map<string, string>();
  for (const c of visible(sandbox, 'customers')) {
    const row = [
      c.account,
      c.email,
      c.phone,
      c.address,
      c.city,
      c.state,
      c.zip,
      c.country,
      stamped ? moment(c.created_at) : null,
      stamped ? moment(c.updated_at) : null,
    ];
    customers.set(String(c.id), JSON.stringify(row));
  }
  const stamp = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
  compare(
    'customers',
    customers,
    await stored(`select id::text as key, jsonb_build_array(account, email, phone, address, city, state, zip, country,
      ${stamp('created_at')}, ${stamp('updated_at')}) as row from warehouse.customers`),
  );

  const shown = sandbox.variants['invoice-fields'] === 'full';
  const invoices = new Map<string, string>();
  for (const i of visible(sandbox, 'invoices')) {
    const items = i.items.map(item => [text(item.description), number(item.amount), number(item.qty)]);
    const row = [
      i.invoice_number,
      text(i.customer_id),
      shown ? day(i.date) : null,
      day(i.due_date),
      number(i.amount),
      i.status,
      shown ? text(i.notes) : null,
      items,
    ];
    invoices.set(String(i.id), JSON.stringify(row));
  }
  compare(
    'invoices',
    invoices,
    await stored(`select id::text as key, jsonb_build_array(invoice_number, customer_id::text, date::text, due_date::text,
      trim_scale(amount)::text, status, notes, (select coalesce(jsonb_agg(jsonb_build_array(t.description, trim_scale(t.amount)::text,
        trim_scale(t.qty)::text) order by t.line), '[]') from warehouse.invoice_items t where t.invoice_id = i.id)) as row
      from warehouse.invoices i`),
  );
  const { rows: orphans } = await database.query<{ count: string }>(
    'select count(*) from warehouse.invoice_items t where not exists (select from warehouse.invoices i where i.id = t.invoice_id)',
  );
  if (orphans[0]?.count !== '0') found.push(`${orphans[0]?.count} invoice items have no invoice`);

  // Rows that come without an id can only be compared by what they say, equals told apart by counting.
  const bare = sandbox.variants['transaction-ids'] === 'no';
  const transactions = new Map<string, string>();
  for (const t of visible(sandbox, 'transactions')) {
    const row = [t.type, text(t.account_id), text(t.category_id), number(t.amount), text(t.description), day(t.date)];
    const content =
      bare && sandbox.variants.none === 'empty' ? JSON.stringify(row).replaceAll('""', 'null') : JSON.stringify(row);
    let key = bare ? content : String(t.id);
    while (bare && transactions.has(key)) key += '+';
    transactions.set(key, content);
  }
  const arrived =
    await stored(`select _key as key, jsonb_build_array(type, account_id::text, category_id::text, trim_scale(amount)::text,
      description, date::text) as row from warehouse.transactions`);
  const counted = new Map<string, string>();
  for (const [id, arrivedContent] of arrived) {
    const content =
      bare && sandbox.variants.none === 'empty' ? arrivedContent.replaceAll('""', 'null') : arrivedContent;
    let key = bare ? content : id;
    while (bare && counted.has(key)) key += '+';
    counted.set(key, content);
  }
  compare('transactions', transactions, counted);
  return found.slice(0, most);
}

/** Whether the key may see a row. */
export const isVisible = ({ variants: { visible } }: Sandbox, row: { readonly id: unknown }): boolean =>
  visible === 'all' || (visible === 'half' && Number(row.id) % 2 === 0);

/** What the key may see is all there is to be equal to. */
function* visible<R extends 'customers' | 'invoices' | 'transactions'>(sandbox: Sandbox, resource: R) {
  for (const row of sandbox.rows(resource)) if (isVisible(sandbox, row)) yield row;
}

const text = (value: unknown): string | null => (value === null || value === undefined ? null : String(value));
const day = (value: unknown): string | null => text(value) || null;
const moment = (value: unknown): string | null =>
  value ? new Date(String(value)).toISOString().replace(/\.(\d{3})Z$/, '.$1000Z') : null;

/** As `trim_scale(numeric)::text` writes it. The sandbox's numbers are exact in their shortest form. */
const number = (value: unknown): string | null => {
  if (value === null || value === undefined || value === '') return null;
  const plain = String(value);
  return plain.includes('.') ? plain.replace(/0+$/, '').replace(/\.$/, '') : plain;
};
