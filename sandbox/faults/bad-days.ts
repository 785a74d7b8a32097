import { dateOf, dayOf, NO_DAY } from '../data/calendar.ts';
import { mix } from '../data/random.ts';
import { lastNames } from '../data/sample-texts.ts';

type Json = Record<string, unknown>;

interface Loss {
  readonly what: string;
  lose(row: Json, field: string): Json;
}

/** What a source may lose for a while, with status 200 and all of its rows. `field`: the one it happens to. */
export const losses = {
  renamed: {
    what: 'the field has another name',
    lose: (row, field) => ({ ...without(row, field), [`${field}_v2`]: row[field] }),
  },
  vanished: { what: 'the field is left out', lose: without },
  nulled: { what: 'the field is null', lose: (row, field) => ({ ...row, [field]: null }) },
  emptied: { what: 'the field is an empty text', lose: (row, field) => ({ ...row, [field]: '' }) },
  'half-nulled': {
    what: 'the field is null in every second row',
    lose: (row, field) => (Number(row.id) % 2 === 0 ? { ...row, [field]: null } : row),
  },
  'items-empty': { what: 'the lines of a document are an empty list', lose: row => ({ ...row, items: [] }) },
  'items-omitted': { what: 'the lines of a document are left out', lose: row => without(row, 'items') },
} as const satisfies Record<string, Loss>;

type Constant = number | string;

interface Rewrite {
  readonly what: string;
  /** What a bad day may vary; the usual one. */
  readonly constant?: Constant;
  /** What is shown for a value that is not empty. `neighbour`: the value of the row beside it. */
  readonly show: (value: unknown, given: { constant: Constant; neighbour: unknown; salt: number }) => unknown;
}

/** What a source may show instead of a value. Whatever is empty stays so. */
export const rewrites = {
  zeroed: { what: 'an amount is 0', constant: 0, show: (_, { constant }) => constant },
  scaled: {
    what: 'an amount is in another unit, such as cents for euros',
    constant: 100,
    // Fifteen digits, so that 0.29 becomes 29 and not 28.999999999999996.
    show: (value, { constant }) => Number((Number(value) * Number(constant)).toPrecision(15)),
  },
  masked: { what: 'a name is hidden', constant: '***', show: (_, { constant }) => constant },
  flipped: { what: 'every status is the same', constant: 'Unpaid', show: (_, { constant }) => constant },
  shifted: {
    what: 'a date is a day earlier, as in another time zone',
    constant: -1,
    show: (value, { constant }) => moveDate(String(value), Number(constant)),
  },
  'mis-encoded': {
    what: 'UTF-8 was read as Latin-1; only texts with other than ASCII characters show it',
    show: value => Buffer.from(String(value), 'utf8').toString('latin1'),
  },
  truncated: {
    what: 'a text is cut to so many characters',
    constant: 5,
    show: (value, { constant }) => [...String(value)].slice(0, Number(constant)).join(''),
  },
  swapped: { what: 'two rows have the value of each other', show: (_, { neighbour }) => neighbour },
  'other-tenant': {
    what: 'all fields but the id are those of another tenant of the vendor',
    show: (value, { salt }) => ofOtherTenant(value, salt),
  },
} as const satisfies Record<string, Rewrite>;

export interface BadDay {
  readonly kind: keyof typeof losses | keyof typeof rewrites;
  readonly resource: string;
  /** `items.amount`: in the lines of a document. */
  readonly field: string;
  /** How much, how many or what instead of the usual, by kind. */
  readonly constant?: Constant;
}

/** A row as it is listed on that day. `row`: as the source renders it. */
export function withLoss({ kind, field }: BadDay, row: Json): Json {
  return isRewrite(kind) ? row : losses[kind].lose(row, field);
}

/** The same for a row that is not rendered yet. `neighbour`: the row beside it, for which this one is that row. */
export function withRewrite<Row extends { id: number }>(badDay: BadDay, row: Row, neighbour: Row): Row {
  const { kind, field, constant } = badDay;
  if (!isRewrite(kind)) return row;
  const { show, constant: usual = 0 }: Rewrite = rewrites[kind];
  const rewrite = (value: unknown, beside: unknown, salt: number) => {
    if (isEmpty(value)) return value;
    const shown = show(value, { constant: constant ?? usual, neighbour: beside, salt: mix(row.id, salt) });
    return isEmpty(shown) ? value : shown;
  };
  if (kind === 'other-tenant')
    return mapFields(row, (name, value, salt) => (name === 'id' ? value : rewrite(value, null, salt)));
  const [own, ofLine] = field.split('.');
  return mapFields(row, (name, value, salt) => {
    if (name !== own) return value;
    const beside = (neighbour as Json)[name];
    if (ofLine === undefined) return rewrite(value, beside, salt);
    return (value as Json[]).map((line, index) => {
      const other = (beside as Json[])[index]?.[ofLine];
      return { ...line, [ofLine]: rewrite(line[ofLine], other, index) };
    });
  });
}

export const isRewrite = (kind: BadDay['kind']): kind is keyof typeof rewrites => Object.hasOwn(rewrites, kind);

function without(row: Json, field: string): Json {
  const { [field]: _, ...others } = row;
  return others;
}

const isEmpty = (value: unknown): boolean => value === undefined || value === null || value === '';

function mapFields<Row extends object>(row: Row, map: (name: string, value: unknown, index: number) => unknown): Row {
  return Object.fromEntries(Object.entries(row).map(([name, value], index) => [name, map(name, value, index)])) as Row;
}

/** Of a date or a timestamp. What is neither stays as it is. */
function moveDate(text: string, days: number): string {
  const day = dayOf(text.slice(0, 10));
  return day === NO_DAY ? text : dateOf(day + days) + text.slice(10);
}

/** Another value of the same type: amounts, ids, dates and addresses stay such. */
function ofOtherTenant(value: unknown, salt: number): unknown {
  const number = 1 + (salt % 899);
  if (Array.isArray(value))
    return value.map((line, index) =>
      mapFields(line, (_, each, at) => ofOtherTenant(each, mix(salt, 64 * index + at))),
    );
  if (typeof value === 'number') return value + number;
  if (typeof value !== 'string' || value === '') return value;
  if (/^-?\d+\.\d+$/.test(value)) return Number(value) + number;
  if (dayOf(value.slice(0, 10)) !== NO_DAY) return moveDate(value, -number);
  return value.includes('@') ? `office${number}@other.example` : `${lastNames[salt % lastNames.length]} ${number}`;
}
