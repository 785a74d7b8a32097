import { mix } from '../data/random.ts';
import type { Amount, Item, Resource, Rows } from '../data/rows.ts';
import type { Variants } from '../variants/variants.ts';

const DATES = new Set(['date', 'due_date', 'valid_until', 'placed_on']);
const STAMPS = new Set(['created_at', 'updated_at']);
const AMOUNTS = new Set(['amount', 'price', 'total']);
const WITHOUT_IDS: readonly Resource[] = ['products', 'quotes', 'tickets', 'users'];

/** Marks a numeral that a double cannot hold, until the text is made. */
const RAW = '\u0001raw:';
const RAW_TEXT = /"\\u0001raw:(-?\d+(?:\.\d+)?)"/g;

type Json = Record<string, unknown>;

/** The row as the source shows it under these variants; `listed` rows may show less than a single one. */
export function renderRow<R extends Resource>(resource: R, row: Rows[R], variants: Variants, listed: boolean): Json {
  if (showsAll(variants, listed) && !hasNumerals(row)) return row as unknown as Json;
  const strings = stringsOf(variants, row.id);
  const shown: Json = {};
  for (const [name, value] of Object.entries(row)) {
    if (hides(resource, name, variants, listed)) continue;
    put(shown, name, value, variants, strings);
  }
  if (variants['extra-fields'] === 'yes') addExtras(shown, resource, row.id);
  return shown;
}

/** Which numbers are written as strings. */
interface Strings {
  amounts: boolean;
  ids: boolean;
  others: boolean;
}

function stringsOf({ numbers }: Variants, id: number): Strings {
  const others = numbers === 'strings' || (numbers === 'mixed' && id % 2 === 1);
  return { amounts: others || numbers === 'string-amounts', ids: others || numbers === 'string-ids', others };
}

/** The text of a body, numerals with more digits than a double holds written out in full. */
export function toJson(value: unknown): string {
  const text = JSON.stringify(value);
  return text.includes('\\u0001raw:') ? text.replace(RAW_TEXT, '$1') : text;
}

/** Whether rows are shown as they are held: copying them field by field would take longer than making them. */
function showsAll(variants: Variants, listed: boolean): boolean {
  return (
    variants.numbers === 'numbers' &&
    variants.none === 'null' &&
    variants.timestamps === 'z' &&
    variants['extra-fields'] === 'no' &&
    variants['customer-fields'] === 'full' &&
    (variants['invoice-fields'] === 'full' || !listed) &&
    ((variants['transaction-ids'] === 'yes' && variants['other-ids'] === 'yes') || !listed)
  );
}

/** Whether an amount is held as text because a double would round it. */
function hasNumerals(whole: object): boolean {
  const row = whole as { amount?: Amount; price?: Amount; total?: Amount; items?: unknown };
  if (typeof row.amount === 'string' || typeof row.price === 'string' || typeof row.total === 'string') return true;
  return Array.isArray(row.items) && (row.items as (Item | null)[]).some(item => typeof item?.amount === 'string');
}

function hides(resource: Resource, name: string, variants: Variants, listed: boolean): boolean {
  if (resource === 'customers') return variants['customer-fields'] === 'bare' && STAMPS.has(name);
  if (resource === 'invoices')
    return listed && variants['invoice-fields'] === 'bare' && (name === 'date' || name === 'notes');
  // What a create is answered with names the id, whatever the list shows.
  if (name !== 'id' || !listed) return false;
  if (resource === 'transactions') return variants['transaction-ids'] === 'no';
  return WITHOUT_IDS.includes(resource) && variants['other-ids'] === 'no';
}

function put(shown: Json, name: string, value: unknown, variants: Variants, strings: Strings): void {
  if (value === null) {
    if (variants.none === 'absent') return;
    shown[name] =
      variants.none === 'empty' ? '' : variants.none === 'zero-date' && DATES.has(name) ? '0000-00-00' : null;
  } else if (name === 'items' && Array.isArray(value)) {
    shown[name] = (value as (Item | null)[]).map(item => {
      if (item === null || typeof item !== 'object') return item;
      const line: Json = {};
      for (const [field, content] of Object.entries(item)) put(line, field, content, variants, strings);
      return line;
    });
  } else if (AMOUNTS.has(name)) {
    shown[name] = showAmount(value as Amount, strings.amounts);
  } else if (STAMPS.has(name)) {
    shown[name] = showStamp(value, variants.timestamps);
  } else {
    const written = /(?:^|_)id$/.test(name) ? strings.ids : strings.others;
    shown[name] = written && typeof value === 'number' ? String(value) : value;
  }
}

function showAmount(value: Amount, strings: boolean): unknown {
  if (typeof value === 'number') {
    if (!strings) return value;
    const text = String(value);
    return /\.\d{2,}$/.test(text) ? text : value.toFixed(2);
  }
  return !strings && /^-?\d+(\.\d+)?$/.test(value) ? RAW + value : value;
}

function showStamp(value: unknown, style: Variants['timestamps']): unknown {
  if (typeof value !== 'string' || style === 'z') return value;
  return style === 'micros' ? value.replace('Z', '.000000Z') : value.replace('T', ' ').replace('Z', '');
}

function addExtras(shown: Json, resource: Resource, id: number): void {
  shown.currency = 'EUR';
  shown.custom_fields = { vat_id: id % 3 === 0 ? null : `XX${id}`, 'naïve key': '✓' };
  shown.tags = id % 4 === 0 ? ['vip', 'été'] : [];
  if (resource === 'users') shown.password = `$2y$10$${mix(id, 7)}`;
}

/** The sums of a report, written as amounts are. */
export function renderSums(sums: Readonly<Record<string, Amount>>, variants: Variants): Json {
  const shown: Json = {};
  for (const [name, sum] of Object.entries(sums)) shown[name] = showAmount(sum, stringsOf(variants, 0).amounts);
  return shown;
}
