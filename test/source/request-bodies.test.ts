import { describe, expect, it } from 'vitest';
import { batchBody, createBodies, fieldProblems } from '../../src/source/api/request-bodies.ts';

type Creatable = keyof typeof createBodies;

const good = {
  customers: { account: 'Müller & Söhne', email: 'büro@müller.example' },
  invoices: { customer_id: 1, date: '2026-01-15', items: [{ description: 'Work', amount: 10, qty: 2 }] },
  transactions: { type: 'Income', account_id: 1, amount: 0.01, date: '2024-02-29' },
  products: { name: 'Lamp', price: 0, type: 'service', tax_rate: 20 },
  quotes: { customer_id: 1, valid_until: '2026-01-15', items: [{ amount: -5 }] },
  tickets: { subject: 'Help', priority: 'High' },
  leads: { company: 'ACME' },
  users: { name: 'Ann', email: 'ann@example.com', password: 'secret', role: 'administrator' },
  webhooks: { url: 'https://example.com/hook', events: ['invoice.created'] },
} satisfies Record<Creatable, unknown>;

function problems(name: Creatable, body: unknown): Record<string, string> {
  const { error } = createBodies[name].safeParse(body);
  return error ? fieldProblems(error) : {};
}

describe('create bodies', () => {
  it.each(Object.keys(good) as Creatable[])('%s accepts the fields that the document shows', name => {
    expect(createBodies[name].parse(good[name])).toEqual(good[name]);
  });

  it('accept decimal text for numbers and ids, and send numbers', () => {
    const body = { type: 'Expense', account_id: '12', amount: '1500.10', date: '2026-01-15' };
    expect(createBodies.transactions.parse(body)).toEqual({ ...body, account_id: 12, amount: 1500.1 });
  });

  it('report problems by field', () => {
    expect(problems('invoices', { customer_id: 1.5, date: '2026-02-31', items: [{ amount: 'x' }, 7] })).toEqual({
      customer_id: 'must be a whole number greater than 0',
      date: 'must be a date such as 2026-01-15',
      'items.0.amount': 'must be a number such as 1500.5',
      'items.1': 'must be an object',
    });
    expect(problems('invoices', {})).toEqual({
      customer_id: 'is missing',
      date: 'is missing',
      items: 'is missing',
    });
    expect(problems('customers', { account: ' ', email: 'ann@', emial: 'ann@example.com', phone: 5 })).toEqual({
      account: 'must not be empty',
      email: 'must be an e-mail address such as ann@example.com',
      phone: 'must be text',
      emial: "is not a field of the API's document",
    });
    expect(problems('leads', { source: 'fair', first_name: ' ' })).toEqual({
      body: 'must hold a name, a company, an e-mail address or a phone number',
    });
    expect(problems('users', 7)).toEqual({ body: 'must be an object' });
    expect(problems('webhooks', { url: 'http://example.com', events: [] })).toEqual({
      url: 'must be an https:// address',
      events: 'must hold at least one event kind',
    });
  });

  it.each([
    [0, 'must be greater than 0'],
    ['-1', 'must be greater than 0'],
    ['1,234.50', 'must be a number such as 1500.5'],
    ['', 'must be a number such as 1500.5'],
    [Number.NaN, 'must be a number such as 1500.5'],
    [null, 'must be a number such as 1500.5'],
    ['9007199254740993', 'has more digits than can be sent exactly'],
  ])('an amount of %j %s', (amount, wrong) => {
    expect(problems('transactions', { ...good.transactions, amount })).toEqual({ amount: wrong });
  });

  it('accept account and email in a batch, and nothing else', () => {
    const { error } = batchBody.safeParse({ customers: [good.customers, { account: 'A', phone: '1' }, {}] });
    expect(error && fieldProblems(error)).toEqual({
      'customers.1.phone': "is not a field of the API's document",
      'customers.2.account': 'is missing',
    });
    expect(batchBody.safeParse({ customers: [] }).success).toBe(false);
  });
});
