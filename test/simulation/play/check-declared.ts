import type { Sandbox } from '../../../sandbox/sandbox.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { inOrder, isStorable, isVisible, type Shown, shownId } from '../../support/compare.ts';
import { type Declaration, OWN, shownIn, takesFields } from '../plan/choose-declarations.ts';
import { comesWithoutIds } from '../plan/choose-variants.ts';
import { CUSTOM_FIELDS, customFields } from './custom-fields.ts';
import { hashWith } from './masked.ts';

type Fields = Readonly<Record<string, ReturnType<typeof customFields>['own'][string]>>;
type Json = Record<string, unknown>;

/** What a table holds of custom fields: their columns, and those in `_extra`. */
interface Held {
  readonly columns: Json;
  readonly extra: Json;
}

/**
 * Describes, as `differing` does, which rows do not hold their custom fields as a fresh load under this declaration would: columns with what fits
 * and may be stored, `_extra` with the rest. Rows that are absent on either side are left to `differing`.
 */
export async function differingFields(
  database: Database,
  sandbox: Sandbox,
  declaration: Declaration,
  lists: Iterable<string>,
): Promise<string[]> {
  const found: string[] = [];
  for (const list of lists) {
    if (!takesFields(list)) continue;
    const source = shownIn(list) as Shown;
    const isBare = comesWithoutIds(source, sandbox.variants);
    const stored = await storedIn(database, list, declaration);
    const expected = new Map<string, string[]>();
    for (const row of sandbox.rows(source)) {
      // The own list reads no other column that could be beyond 64 bits.
      const read = list === OWN ? { id: row.id } : row;
      if (!isVisible(sandbox, row) || !isStorable(sandbox, source, read)) continue;
      const id = isBare ? '' : shownId(sandbox, row.id);
      expected.set(id, [...(expected.get(id) ?? []), expectedOf(list, row, declaration)]);
    }
    for (const [id, rows] of expected) {
      const here = stored.get(id) ?? [];
      if (here.length === 0 && list !== OWN) continue;
      const lacking = without(
        rows,
        here.map(({ text }) => text),
      );
      const more = without(here, rows, ({ text }) => text);
      if (!isBare && lacking.length + more.length > 0)
        found.push(
          `${list} ${id}\n  source    ${lacking.join('\n')}\n  warehouse ${more.map(each => each.text).join('\n')}`,
        );
      // Rows without ids are equal as a whole.
      if (!isBare) continue;
      found.push(...lacking.map(row => `${list} ${row} is not in the warehouse`));
      found.push(...more.map(({ key }) => `${list} ${key} is not at the source`));
    }
  }
  return found;
}

/** The rows that `others` do not have, and of equal ones as many as there are more of. */
function without<T>(rows: readonly T[], others: readonly string[], textIn: (row: T) => string = String): T[] {
  const left = [...others];
  return rows.filter(row => {
    const at = left.indexOf(textIn(row));
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

function expectedOf(
  list: string,
  row: Parameters<typeof customFields>[1],
  { fields, never, hash, hashKey }: Declaration,
): string {
  const { own, lines } = customFields(shownIn(list), row);
  const types = fields[list] ?? {};
  const rules = [...never, ...hash].filter(rule => !rule.includes('.') || rule.startsWith(`${list}.`));
  const dropped = rules.map(rule => rule.split('.').at(-1));
  const hold = (samples: Fields, prefix: string): Held => {
    const columns: Json = {};
    const extra: Json = {};
    for (const [name, { sent, fits }] of Object.entries(samples)) {
      const type = types[prefix + name];
      const isNever = never.includes(name) || never.includes(`${list}.${prefix}${name}`);
      if (type === undefined) {
        if (!dropped.includes(name)) extra[name] = dropped.includes('iban') ? withoutIban(sent) : sent;
      } else if (isNever) columns[name] = null;
      else {
        const fit = fits[type];
        const text = dropped.includes('iban') ? (withoutIban(fit) as string | null | undefined) : fit;
        columns[name] = text && hash.includes(`${list}.${prefix}${name}`) ? hashWith(hashKey, text) : (text ?? null);
        if (fit === undefined) extra[name] = dropped.includes('iban') ? withoutIban(sent) : sent;
      }
    }
    return { columns, extra };
  };
  const items = hasItems(list, types) ? lines.map(line => hold(line, 'items.')) : null;
  return JSON.stringify(inOrder({ own: hold(own, ''), items }));
}

/** An own list keeps its lines in `_extra` unless it declares fields of them. */
const hasItems = (list: string, types: Declaration['fields'][string]): boolean =>
  list === 'invoices' || list === 'quotes' || Object.keys(types).some(path => path.startsWith('items.'));

/** The samples `details` and `remarks` name an account once more. */
function withoutIban(sent: unknown): unknown {
  if (typeof sent === 'string' && sent.startsWith('{')) return JSON.stringify({ n: 1.5 });
  return typeof sent === 'object' && sent !== null ? { note: 'kept', deep: [{}, 1] } : sent;
}

const LINES: Readonly<Record<string, readonly [table: string, parent: string]>> = {
  invoices: ['invoice_items', 'invoice_id'],
  quotes: ['quote_items', 'quote_key'],
  [OWN]: ['offer_lines', 'offer'],
};

/** By id, or all under '' where rows have none; of equal ones those first that no reading lacked. */
async function storedIn(
  database: Database,
  list: string,
  { fields }: Declaration,
): Promise<Map<string, { key: string; text: string }[]>> {
  const types = fields[list] ?? {};
  const [table, parent] = (hasItems(list, types) && LINES[list]) || [];
  const key = list === 'customers' || list === 'invoices' ? 'id' : '_key';
  const lines = table
    ? `(select coalesce(jsonb_agg(to_jsonb(i) order by i.line), '[]') from warehouse.${table} i where i.${parent} = t.${key})`
    : 'null::jsonb';
  const { rows } = await database.query<{ id: string | null; key: string; row: Json; items: Json[] | null }>(
    `select t.id::text as id, t.${key}::text as key, to_jsonb(t) as row, ${lines} as items from warehouse.${list} t
      order by exists (select from sluice.missing m where m.resource = $1 and m.key = t.${key}::text), key`,
    [list],
  );
  const byId = new Map<string, { key: string; text: string }[]>();
  const hold = (row: Json, of: readonly string[], prefix: string): Held => {
    const extra = (row._extra ?? {}) as Json;
    const columns = of.filter(name => name in row);
    return {
      columns: Object.fromEntries(columns.map(name => [name, textOf(row[name], types[prefix + name])])),
      extra: Object.fromEntries(of.filter(name => name in extra).map(name => [name, extra[name]])),
    };
  };
  for (const { id, key, row, items } of rows) {
    const held = {
      own: hold(row, CUSTOM_FIELDS, ''),
      items: items?.map(item => hold(item, ['discount', 'iban'], 'items.')) ?? null,
    };
    byId.set(id ?? '', [...(byId.get(id ?? '') ?? []), { key, text: JSON.stringify(inOrder(held)) }]);
  }
  return byId;
}

const textOf = (value: unknown, type: string | undefined): string | null =>
  value === null || value === undefined
    ? null
    : type === 'timestamp'
      ? `${new Date(String(value)).toISOString().slice(0, 19)}Z`
      : String(value);
