import { SECOND } from '../../src/clock.ts';
import { mix } from '../data/random.ts';
import type { Amount, Item, Resource, Rows } from '../data/rows.ts';
import { exactNumber } from '../envelopes/json-text.ts';
import type { ItemsForm, ListForm } from '../envelopes/responses.ts';
import type { Variants } from '../variants/variants.ts';
import { addSecrets } from './add-secrets.ts';
import { edgeId } from './edge-ids.ts';

const DATES = new Set(['date', 'due_date', 'valid_until', 'placed_on']);
const STAMPS = new Set(['created_at', 'updated_at']);
const AMOUNTS = new Set(['amount', 'price', 'total']);
const SHOWN_IDS = new Set(['id', 'customer_id']);
const WITHOUT_IDS: readonly Resource[] = ['products', 'quotes', 'tickets', 'users'];

type Json = Record<string, unknown>;

/** The row as rendered, with fields of the installation's own; `row`: as it is stored. */
export type AddFields = (resource: Resource, row: { readonly id: number }, rendered: Json) => Json;

/** A row as the source returns it under these variants. `listed`: in a list, where rows may have fewer fields. */
export function renderRow<R extends Resource>(resource: R, row: Rows[R], variants: Variants, listed: boolean): Json {
  if (isUnchangedBy(variants, listed) && !hasExactNumbers(row)) return row as unknown as Json;
  const quoted = quotedNumbers(variants, row.id);
  const rendered: Json = {};
  for (const [name, value] of Object.entries(row)) {
    if (isHidden(resource, name, variants, listed)) continue;
    renderField(rendered, name, value, variants, quoted);
  }
  if (variants['extra-fields'] === 'yes') addExtraFields(rendered, resource, row.id);
  if (variants.secrets !== 'no') addSecrets(rendered, row.id);
  return rendered;
}

/** Which numbers are written as strings. */
interface Quoted {
  amounts: boolean;
  ids: boolean;
  others: boolean;
}

function quotedNumbers({ numbers }: Variants, id: number): Quoted {
  const others = numbers === 'strings' || (numbers === 'mixed' && id % 2 === 1);
  return { amounts: others || numbers === 'string-amounts', ids: others || numbers === 'string-ids', others };
}

/** Whether rows can be sent as stored: copying one field by field takes longer than generating it. */
function isUnchangedBy(variants: Variants, listed: boolean): boolean {
  return (
    variants.numbers === 'numbers' &&
    variants.none === 'null' &&
    variants.timestamps === 'z' &&
    variants.lists === 'array' &&
    variants['extra-fields'] === 'no' &&
    variants.secrets === 'no' &&
    variants.ids === 'small' &&
    variants['customer-fields'] === 'full' &&
    (variants['invoice-fields'] === 'full' || !listed) &&
    ((variants['transaction-ids'] === 'yes' && variants['other-ids'] === 'yes') || !listed)
  );
}

/** Whether an amount is stored as text because a double would round it. */
function hasExactNumbers(stored: object): boolean {
  const row = stored as { amount?: Amount; price?: Amount; total?: Amount; items?: unknown };
  if (typeof row.amount === 'string' || typeof row.price === 'string' || typeof row.total === 'string') return true;
  return Array.isArray(row.items) && (row.items as (Item | null)[]).some(item => typeof item?.amount === 'string');
}

function isHidden(resource: Resource, name: string, variants: Variants, listed: boolean): boolean {
  if (resource === 'customers') return variants['customer-fields'] === 'bare' && STAMPS.has(name);
  if (resource === 'invoices')
    return listed && variants['invoice-fields'] === 'bare' && (name === 'date' || name === 'notes');
  // The response to a create has the id even where lists omit it.
  if (name !== 'id' || !listed) return false;
  if (resource === 'transactions') return variants['transaction-ids'] === 'no';
  return WITHOUT_IDS.includes(resource) && variants['other-ids'] === 'no';
}

function renderField(rendered: Json, name: string, value: unknown, variants: Variants, quoted: Quoted): void {
  if (value === null) {
    if (variants.none === 'absent') return;
    rendered[name] =
      variants.none === 'empty' ? '' : variants.none === 'zero-date' && DATES.has(name) ? '0000-00-00' : null;
  } else if (name === 'items' && Array.isArray(value)) {
    const items = (value as (Item | null)[]).map(item => {
      if (item === null || typeof item !== 'object') return item;
      const line: Json = {};
      for (const [field, content] of Object.entries(item)) renderField(line, field, content, variants, quoted);
      return line;
    });
    rendered[name] = asForm(items, formOfItems(variants));
  } else if (SHOWN_IDS.has(name) && edgeId(value, variants) !== null) {
    const shown = edgeId(value, variants) as string;
    rendered[name] = quoted.ids ? shown : exactNumber(shown);
  } else if (AMOUNTS.has(name)) {
    rendered[name] = renderAmount(value as Amount, quoted.amounts);
  } else if (STAMPS.has(name)) {
    rendered[name] = renderStamp(value, variants.timestamps, quoted.others);
  } else {
    const isQuoted = /(?:^|_)id$/.test(name) ? quoted.ids : quoted.others;
    rendered[name] = isQuoted && typeof value === 'number' ? String(value) : value;
  }
}

function renderAmount(value: Amount, quoted: boolean): unknown {
  if (typeof value === 'number') {
    if (!quoted) return value;
    const text = String(value);
    return /\.\d{2,}$/.test(text) ? text : value.toFixed(2);
  }
  return !quoted && /^-?\d+(\.\d+)?$/.test(value) ? exactNumber(value) : value;
}

/** How this source writes the rows of a list. */
export function formOf(variants: Variants): ListForm {
  const form = formOfItems(variants);
  return form !== 'array' && variants['list-names'] === 'ids' ? 'ids' : form;
}

function formOfItems({ lists }: Variants): ItemsForm {
  return lists === 'array' ? 'array' : lists === 'object' ? 1 : 2;
}

function asForm(items: readonly unknown[], form: ItemsForm): unknown {
  if (form === 'array' || items.length === 0) return items;
  return Object.fromEntries(items.map((item, index) => [index * form, item]));
}

function renderStamp(value: unknown, style: Variants['timestamps'], quoted: boolean): unknown {
  if (typeof value !== 'string' || style === 'z') return value;
  if (style === 'epoch' || style === 'epoch-ms') {
    const moment = Date.parse(value) / (style === 'epoch' ? SECOND : 1);
    return Number.isNaN(moment) ? value : quoted ? String(moment) : moment;
  }
  return style === 'micros' ? value.replace('Z', '.000000Z') : value.replace('T', ' ').replace('Z', '');
}

function addExtraFields(rendered: Json, resource: Resource, id: number): void {
  rendered.currency = 'EUR';
  rendered.custom_fields = { vat_id: id % 3 === 0 ? null : `XX${id}`, 'naïve key': '✓' };
  rendered.tags = id % 4 === 0 ? ['vip', 'été'] : [];
  if (resource === 'users') rendered.password = `$2y$10$${mix(id, 7)}`;
}

/** The sums of a report, written like amounts. */
export function renderSums(sums: Readonly<Record<string, Amount>>, variants: Variants): Json {
  const rendered: Json = {};
  for (const [name, sum] of Object.entries(sums))
    rendered[name] = renderAmount(sum, quotedNumbers(variants, 0).amounts);
  return rendered;
}
