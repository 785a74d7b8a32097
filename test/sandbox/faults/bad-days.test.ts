import { describe, expect, test } from 'vitest';
import type { BadDay, rewrites } from '../../../sandbox/faults/bad-days.ts';
import { type Body, openForTest, request } from '../test-client.ts';

const SIZE = { customers: 60, invoices: 80, transactions: 60 };
type Row = Record<string, unknown>;

/** The first hundred rows of a list, by id: on an ordinary day, and on a bad one during which the row `edited` gets other values. */
async function bothDays(badDay: BadDay, edited: { id: number; patch: Row } | null = null) {
  const sandbox = await openForTest({ size: SIZE, rateLimit: 0, variants: { 'invoice-fields': 'full' } });
  const list = async (): Promise<Row[]> => {
    const { status, body } = await request(sandbox, `/api/v2/${badDay.resource}?limit=100`);
    expect(status).toBe(200);
    return (body as Body).data.sort((a: Body, b: Body) => a.id - b.id);
  };
  const usual = await list();
  if (edited) sandbox.update(badDay.resource as 'invoices', edited.id, edited.patch);
  sandbox.setBadDay(badDay);
  const bad = await list();
  const again = await list();
  sandbox.setBadDay(null);
  expect(again).toEqual(bad);
  const after = await list();
  return { usual, bad, after };
}

const valuesOf = (rows: readonly Row[], field: string) => rows.map(row => row[field]);
const isFilled = (value: unknown) => value !== null && value !== '' && value !== undefined;

const CASES: readonly (BadDay & {
  readonly kind: keyof typeof rewrites;
  readonly rows: number;
  readonly shown: (value: never) => unknown;
})[] = [
  { kind: 'zeroed', resource: 'invoices', field: 'amount', rows: 80, shown: () => 0 },
  {
    kind: 'scaled',
    resource: 'invoices',
    field: 'amount',
    rows: 80,
    shown: (amount: number) => Number((amount * 100).toFixed(6)),
  },
  {
    kind: 'scaled',
    resource: 'transactions',
    field: 'amount',
    constant: 1000,
    rows: 60,
    shown: (amount: number) => Number((amount * 1000).toFixed(4)),
  },
  { kind: 'masked', resource: 'customers', field: 'email', rows: 50, shown: () => '***' },
  { kind: 'flipped', resource: 'invoices', field: 'status', rows: 40, shown: () => 'Unpaid' },
  { kind: 'flipped', resource: 'transactions', field: 'type', constant: 'Expense', rows: 20, shown: () => 'Expense' },
  {
    kind: 'shifted',
    resource: 'invoices',
    field: 'due_date',
    rows: 75,
    shown: (date: string) => new Date(Date.parse(date) - 86_400_000).toISOString().slice(0, 10),
  },
  {
    kind: 'shifted',
    resource: 'customers',
    field: 'created_at',
    constant: 1,
    rows: 60,
    shown: (stamp: string) => new Date(Date.parse(stamp) + 86_400_000).toISOString().replace('.000Z', 'Z'),
  },
  {
    kind: 'mis-encoded',
    resource: 'customers',
    field: 'account',
    rows: 30,
    shown: (name: string) =>
      encodeURIComponent(name).replace(/%(..)/g, (_, byte: string) => String.fromCharCode(Number.parseInt(byte, 16))),
  },
  {
    kind: 'truncated',
    resource: 'customers',
    field: 'account',
    rows: 55,
    shown: (name: string) => Array.from(name).slice(0, 5).join(''),
  },
];

describe('on a bad day that rewrites', () => {
  test.each(CASES)('$resource.$field is $kind, and nothing else', async ({ rows, shown, ...badDay }) => {
    const { usual, bad, after } = await bothDays(badDay);
    const { field } = badDay;
    expect(valuesOf(bad, 'id')).toEqual(valuesOf(usual, 'id'));
    bad.forEach((row, index) => {
      const { [field]: value, ...others } = row;
      const { [field]: was, ...othersWere } = usual[index] as Row;
      expect(others).toEqual(othersWere);
      expect(value).toEqual(isFilled(was) ? shown(was as never) : was);
    });
    const replaced = bad.filter((row, index) => row[field] !== usual[index]?.[field]);
    expect(replaced.length).toBeGreaterThanOrEqual(rows);
    expect(after).toEqual(usual);
  });

  test('the lines of documents are rewritten alike', async () => {
    const { usual, bad } = await bothDays({ kind: 'zeroed', resource: 'invoices', field: 'items.amount' });
    const lines = (rows: readonly Row[]) => rows.map(row => row.items as Row[]);
    expect(lines(bad)).toEqual(lines(usual).map(items => items.map(item => ({ ...item, amount: 0 }))));
    expect(valuesOf(bad, 'amount')).toEqual(valuesOf(usual, 'amount'));
  });

  test('two rows have the value of each other', async () => {
    const { usual, bad } = await bothDays({ kind: 'swapped', resource: 'customers', field: 'account' });
    expect(new Set(valuesOf(bad, 'account'))).toEqual(new Set(valuesOf(usual, 'account')));
    expect(valuesOf(bad, 'account')[0]).toBe(valuesOf(usual, 'account')[1]);
    expect(valuesOf(bad, 'account')[1]).toBe(valuesOf(usual, 'account')[0]);
    expect(valuesOf(bad, 'email')).toEqual(valuesOf(usual, 'email'));
  });

  test.each(['customers', 'invoices', 'transactions', 'products', 'quotes', 'tickets'])(
    'another tenant has the same ids, and other contents of the same kind (%s)',
    async resource => {
      const { usual, bad, after } = await bothDays({ kind: 'other-tenant', resource, field: 'id' });
      expect(valuesOf(bad, 'id')).toEqual(valuesOf(usual, 'id'));
      bad.forEach((row, index) => {
        expect(Object.keys(row)).toEqual(Object.keys(usual[index] as Row));
        for (const [field, value] of Object.entries(row)) {
          const was = usual[index]?.[field];
          expect(typeof value).toBe(typeof was);
          if (field !== 'id' && isFilled(was)) expect(value).not.toEqual(was);
          if (/^(date|due_date|valid_until)$/.test(field) && isFilled(was)) expect(value).toMatch(/^\d{4}-\d\d-\d\d$/);
        }
      });
      expect(after).toEqual(usual);
    },
  );

  test('what is edited meanwhile shows in the other fields', async () => {
    const edited = { id: 7, patch: { notes: 'Edited meanwhile', amount: 12.5 } };
    const { bad } = await bothDays({ kind: 'scaled', resource: 'invoices', field: 'amount' }, edited);
    expect(bad.find(({ id }) => id === 7)).toMatchObject({ notes: 'Edited meanwhile', amount: 1250 });
  });

  test('values are written as the source writes them', async () => {
    const sandbox = await openForTest({ size: SIZE, rateLimit: 0, variants: { numbers: 'string-amounts' } });
    sandbox.setBadDay({ kind: 'zeroed', resource: 'invoices', field: 'amount' });
    const { body } = await request(sandbox, '/api/v2/invoices');
    expect(body.data[0].amount).toBe('0.00');
  });
});
