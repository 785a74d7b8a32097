import type { Rows } from '../../sandbox/data/rows.ts';
import { toJson } from '../../sandbox/envelopes/json-text.ts';
import { edgeId } from '../../sandbox/lists/edge-ids.ts';
import { financialReport } from '../../sandbox/lists/financial-report.ts';
import { isVisible as mayBeSeen } from '../../sandbox/lists/ordering.ts';
import { renderRow } from '../../sandbox/lists/render-row.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { parseJson } from '../../src/source/answers/json.ts';
import type { Database } from '../../src/warehouse/database/database.ts';
import { MAIN, type TestResource } from './resources.ts';

/** How the rows of a list are compared: the content at the source, and the same of the warehouse as a JSON array. */
interface Comparison {
  /** Id and content of every row that the key may see. */
  readonly source: (sandbox: Sandbox) => Iterable<readonly [string, readonly unknown[]]>;
  readonly warehouse: string;
  /** The column that holds the id. */
  readonly key: 'id' | '_key' | 'period';
  /** Rows without ids are compared by content and count. */
  readonly bare?: (variants: Sandbox['variants']) => boolean;
  readonly isOffered?: (variants: Sandbox['variants']) => boolean;
}

const withoutIds = ({ 'other-ids': ids }: Sandbox['variants']) => ids === 'no';
const stamp = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
const decimal = (column: string) => `trim_scale(${column})::text`;
const itemsOf = (table: string, parent: string, key: string) =>
  `(select coalesce(jsonb_agg(jsonb_build_array(i.description, ${decimal('i.amount')}, ${decimal('i.qty')}) order by i.line), '[]')
    from warehouse.${table} i where i.${parent} = t.${key})`;
const items = (list: Rows['invoices']['items']) =>
  list.map(item => [text(item.description), number(item.amount), number(item.qty)]);

const COMPARISONS: Readonly<Record<TestResource, Comparison>> = {
  customers: {
    *source(sandbox) {
      const stamped = sandbox.variants['customer-fields'] === 'full';
      for (const c of visible(sandbox, 'customers')) {
        const stamps = stamped ? [moment(c.created_at), moment(c.updated_at)] : [null, null];
        yield [String(c.id), [c.account, c.email, c.phone, c.address, c.city, c.state, c.zip, c.country, ...stamps]];
      }
    },
    warehouse: `account, email, phone, address, city, state, zip, country, ${stamp('created_at')}, ${stamp('updated_at')}`,
    key: 'id',
  },
  invoices: {
    *source(sandbox) {
      const shown = sandbox.variants['invoice-fields'] === 'full';
      for (const i of visible(sandbox, 'invoices')) {
        const dates = [shown ? day(i.date) : null, day(i.due_date)];
        const rest = [number(i.amount), i.status, shown ? text(i.notes) : null, items(i.items)];
        yield [String(i.id), [i.invoice_number, text(i.customer_id), ...dates, ...rest]];
      }
    },
    warehouse: `invoice_number, customer_id::text, date::text, due_date::text, ${decimal('amount')}, status, notes,
      ${itemsOf('invoice_items', 'invoice_id', 'id')}`,
    key: 'id',
  },
  transactions: {
    *source(sandbox) {
      for (const t of visible(sandbox, 'transactions')) {
        const ids = [text(t.account_id), text(t.category_id)];
        yield [String(t.id), [t.type, ...ids, number(t.amount), text(t.description), day(t.date)]];
      }
    },
    warehouse: `type, account_id::text, category_id::text, ${decimal('amount')}, description, date::text`,
    key: '_key',
    bare: variants => variants['transaction-ids'] === 'no',
  },
  products: {
    *source(sandbox) {
      for (const p of visible(sandbox, 'products'))
        yield [String(p.id), [p.name, number(p.price), text(p.description), p.type, number(p.tax_rate)]];
    },
    warehouse: `name, ${decimal('price')}, description, type, ${decimal('tax_rate')}`,
    key: '_key',
    bare: withoutIds,
  },
  quotes: {
    *source(sandbox) {
      for (const q of visible(sandbox, 'quotes'))
        yield [String(q.id), [text(q.customer_id), day(q.valid_until), items(q.items)]];
    },
    warehouse: `customer_id::text, valid_until::text, ${itemsOf('quote_items', 'quote_key', '_key')}`,
    key: '_key',
    bare: withoutIds,
  },
  tickets: {
    *source(sandbox) {
      for (const t of visible(sandbox, 'tickets')) {
        const rest = [text(t.department_id), t.priority, t.status];
        yield [String(t.id), [text(t.customer_id), t.subject, text(t.message), ...rest]];
      }
    },
    warehouse: 'customer_id::text, subject, message, department_id::text, priority, status',
    key: '_key',
    bare: withoutIds,
  },
  users: {
    *source(sandbox) {
      for (const u of visible(sandbox, 'users')) yield [String(u.id), [u.name, u.email, u.role]];
    },
    warehouse: 'name, email, role',
    key: '_key',
    bare: withoutIds,
  },
  financial_summaries: {
    source: summaries,
    warehouse: `year, month, ${decimal('income')}, ${decimal('expenses')}, ${decimal('profit')}, ${decimal('outstanding_invoices')}`,
    key: 'period',
  },
  orders: whole('orders'),
  suppliers: whole('suppliers'),
  purchases: whole('purchases'),
};

/** Lists with undocumented fields are stored whole. */
function whole(resource: 'orders' | 'suppliers' | 'purchases'): Comparison {
  const isOffered = ({ 'other-lists': answer }: Sandbox['variants']) => answer === 'list';
  return {
    isOffered,
    *source(sandbox) {
      if (!isOffered(sandbox.variants)) return;
      for (const row of storable(sandbox, resource)) {
        const shown = parseJson(toJson(renderRow(resource, row, sandbox.variants, true)));
        yield [shownId(sandbox, row.id), [inOrder(shown)]];
      }
    },
    warehouse: 'record',
    key: '_key',
  };
}

/** A row for each month, from the first with any amount to the current one. */
function summaries(sandbox: Sandbox): [string, unknown[]][] {
  const { report } = sandbox.variants;
  if (report === 'absent') return [];
  const now = new Date(sandbox.now());
  const months: { key: string; row: unknown[]; empty: boolean }[] = [];
  for (let back = 0; back < 240; back++) {
    const first = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1));
    const [year, month] = [first.getUTCFullYear(), first.getUTCMonth() + 1];
    const sums = Object.values(financialReport(sandbox.data, year, month, report));
    const row = [year, month, ...sums.map(number)];
    months.push({ key: first.toISOString().slice(0, 7), row, empty: sums.every(sum => Number(sum) === 0) });
  }
  while (months.at(-1)?.empty) months.pop();
  return months.map(({ key, row }) => [key, row]);
}

/** Describes the first differences; empty when warehouse and source are equal in every field of every row. */
export async function differences(
  database: Database,
  sandbox: Sandbox,
  most = 5,
  resources: readonly TestResource[] = MAIN,
): Promise<string[]> {
  const found: string[] = [];
  for (const resource of resources) {
    found.push(...(await differing(database, sandbox, resource)).values());
    if (found.length >= most) break;
  }
  for (const [table, parent, of, key] of [
    ['invoice_items', 'invoice_id', 'invoices', 'id'],
    ['quote_items', 'quote_key', 'quotes', '_key'],
  ]) {
    const { rows } = await database.query<{ count: string }>(
      `select count(*) from warehouse.${table} t where not exists (select from warehouse.${of} p where p.${key} = t.${parent})`,
    );
    if (rows[0]?.count !== '0') found.push(`${rows[0]?.count} rows of ${table} have no parent`);
  }
  return found.slice(0, most);
}

/** What differs in a list, described by the id of the row, or by its content where it has none. */
export async function differing(
  database: Database,
  sandbox: Sandbox,
  resource: TestResource,
): Promise<Map<string, string>> {
  const { source, warehouse, key, bare } = COMPARISONS[resource];
  const found = new Map<string, string>();
  // Text columns keep the "" that such a source writes for null.
  const plain = (content: string) => (sandbox.variants.none === 'empty' ? content.replaceAll('""', 'null') : content);
  const received = (content: string) =>
    sandbox.variants.charset === 'broken' ? content.replace(/[À-ÿ]/g, '\ufffd') : content;
  const counted = (rows: Iterable<readonly [string, unknown]>) => {
    const byKey = new Map<string, string>();
    for (const [id, row] of rows) {
      const content = received(plain(JSON.stringify(row)));
      let name = bare?.(sandbox.variants) ? content : id;
      while (byKey.has(name)) name += '+';
      byKey.set(name, content);
    }
    return byKey;
  };
  const { rows } = await database.query<{ key: string; row: unknown[] }>(
    `select ${key}::text as key, jsonb_build_array(${warehouse}) as row from warehouse.${resource} t`,
  );
  const expected = counted(source(sandbox));
  const actual = counted(rows.map(each => [each.key, key === '_key' ? each.row.map(inOrder) : each.row] as const));
  for (const [id, content] of expected) {
    const stored = actual.get(id);
    if (stored === content) continue;
    const text =
      stored === undefined
        ? `${resource} ${id} is absent`
        : `${resource} ${id}\n  source    ${content}\n  warehouse ${stored}`;
    found.set(id, text);
  }
  const aside = await checkAside(database, sandbox, resource, found);
  for (const id of actual.keys())
    if (!expected.has(id) && !aside.has(id)) found.set(id, `${resource} ${id} is not at the source`);
  return found;
}

/** Whether the key may see a row. */
export const isVisible = ({ variants }: Sandbox, row: { readonly id: unknown }): boolean =>
  mayBeSeen(variants, Number(row.id));

/** The rows that the key may see and the warehouse can store. */
function* storable<R extends Shown>(sandbox: Sandbox, resource: R): Generator<Rows[R]> {
  for (const row of sandbox.rows(resource))
    if (isVisible(sandbox, row) && isStorable(sandbox, resource, row)) yield row;
}

/** The same with ids as they are shown: the warehouse must equal these. */
function* visible<R extends Shown>(sandbox: Sandbox, resource: R): Generator<Rows[R]> {
  for (const row of storable(sandbox, resource)) {
    const edges = edgesOf(sandbox, resource, row);
    yield edges.length === 0 ? row : { ...row, ...Object.fromEntries(edges) };
  }
}

/** The lists with rows at the source; summaries have none. */
export type Shown = Exclude<TestResource, 'financial_summaries'>;

export const shownId = (sandbox: Sandbox, id: unknown): string => edgeId(id, sandbox.variants) ?? String(id);

const LAST_ID = 2n ** 63n - 1n;

/** Whether no id of the row is beyond 64 bits. */
export const isStorable = (sandbox: Sandbox, resource: Shown, row: object): boolean =>
  edgesOf(sandbox, resource, row).every(([, id]) => BigInt(id) <= LAST_ID);

function edgesOf({ variants }: Sandbox, resource: Shown, row: object): [string, string][] {
  const names = COMPARISONS[resource].bare?.(variants) ? ['customer_id'] : ['id', 'customer_id'];
  return names.flatMap((name): [string, string][] => {
    const edge = edgeId((row as Record<string, unknown>)[name], variants);
    return edge === null ? [] : [[name, edge]];
  });
}

/**
 * The rows that cannot be stored, which must be in quarantine instead: under their id, or marked where that is what cannot be stored. What is
 * stored of them does not count.
 */
async function checkAside(
  database: Database,
  sandbox: Sandbox,
  resource: TestResource,
  found: Map<string, string>,
): Promise<ReadonlySet<string>> {
  if (resource === 'financial_summaries' || COMPARISONS[resource].bare?.(sandbox.variants)) return new Set();
  if (COMPARISONS[resource].isOffered?.(sandbox.variants) === false) return new Set();
  const rows = [...sandbox.rows(resource)].filter(
    row => isVisible(sandbox, row) && !isStorable(sandbox, resource, row),
  );
  if (rows.length === 0) return new Set();
  const ids = rows.map(row => shownId(sandbox, row.id));
  const { rows: quarantined } = await database.query<{ key: string }>(
    'select key from sluice.quarantine where resource = $1 and resolved_at is null',
    [resource],
  );
  const keys = new Set(quarantined.map(({ key }) => key));
  for (const id of ids)
    if (!keys.has(BigInt(id) <= LAST_ID ? id : `?${id}`)) found.set(id, `${resource} ${id} is not in quarantine`);
  return new Set(ids);
}

/** Sorts the names of objects, because `jsonb` does not keep their order. */
export function inOrder(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(inOrder);
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, item]) => [name, inOrder(item)]),
  );
}

const text = (value: unknown): string | null => (value === null || value === undefined ? null : String(value));
const day = (value: unknown): string | null => text(value) || null;
const moment = (value: unknown): string | null =>
  value ? new Date(String(value)).toISOString().replace(/\.(\d{3})Z$/, '.$1000Z') : null;

/** The number as `trim_scale(numeric)::text` writes it. The sandbox's numbers are exact in their shortest form. */
const number = (value: unknown): string | null => {
  if (value === null || value === undefined || value === '') return null;
  const plain = String(value);
  return plain.includes('.') ? plain.replace(/0+$/, '').replace(/\.$/, '') : plain;
};
