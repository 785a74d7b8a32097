import { describe, expect, test } from 'vitest';
import { type ChangeKind, changeKinds } from '../../../sandbox/changes/main-changes.ts';
import type { Sandbox } from '../../../sandbox/sandbox.ts';
import { MINUTE } from '../../../src/clock.ts';
import { createManualClock, openForTest, request, requestAll, TODAY } from '../test-client.ts';

type Changing = 'customers' | 'invoices' | 'transactions';

function snapshot(sandbox: Sandbox, resource: Changing): Map<number, string> {
  return new Map([...sandbox.rows(resource)].map(row => [row.id, JSON.stringify(row)]));
}

describe('one change of each kind', () => {
  test.for(changeKinds)('%s touches one row, and the API shows it', async kind => {
    const sandbox = await openForTest();
    const resource = `${kind.split('-')[0]}s` as Changing;
    const before = snapshot(sandbox, resource);
    const change = sandbox.change(kind);
    expect(change).toEqual({ kind, resource, id: change.id, at: sandbox.now() });

    const after = new Map((await requestAll(sandbox, `/api/v2/${resource}`)).map(row => [row.id, row]));
    const touched = [...new Set([...before.keys(), ...after.keys()])].filter(
      id => before.get(id) !== (after.has(id) ? JSON.stringify(after.get(id)) : undefined),
    );
    expect(touched).toEqual([change.id]);
    const was = before.has(change.id) ? JSON.parse(before.get(change.id) as string) : undefined;
    expectEffect(kind, was, after.get(change.id));
  });

  function expectEffect(kind: ChangeKind, was: Record<string, unknown>, is: Record<string, unknown>) {
    if (kind.endsWith('-new') || kind.endsWith('-backdated')) expect(was).toBeUndefined();
    else expect(was).toBeDefined();
    if (kind.endsWith('-deleted')) expect(is).toBeUndefined();
    if (kind.endsWith('-backdated')) expect((is.date as string) < '2025-12-10').toBe(true);
    if (kind.endsWith('-moved')) expect({ ...was, date: is.date }).toEqual(is);
    if (kind === 'invoice-new' || kind === 'transaction-new') expect(is.date).toBe(TODAY);
    if (kind === 'invoice-paid') expect({ ...was, status: is.status }).toEqual(is);
    if (kind === 'customer-edited') expect(is.updated_at).toBe('2026-01-15T12:00:00Z');
  }
});

describe('changes', () => {
  test('the same seed gives the same changes', async () => {
    const [one, two] = [await openForTest({ seed: 5 }), await openForTest({ seed: 5 })];
    expect(one.changeRandom(200)).toEqual(two.changeRandom(200));
    for (const resource of ['customers', 'invoices', 'transactions'] as const) {
      expect([...one.rows(resource)]).toEqual([...two.rows(resource)]);
    }
    expect(one.changes).toHaveLength(200);
    expect(new Set(one.changes.map(({ kind }) => kind)).size).toBeGreaterThan(10);
  });

  test('lists, filters and totals stay correct through many changes, in every order', async () => {
    const sandbox = await openForTest({ rateLimit: 0 });
    for (const order of ['id-desc', 'id-asc', 'updated-desc', 'date-desc', 'shuffled'] as const) {
      sandbox.setVariants({ order });
      sandbox.changeRandom(100);
      const byId = (rows: { id: number }[]) => rows.sort((a, b) => a.id - b.id);
      const invoices = [...sandbox.rows('invoices')];
      expect(byId(await requestAll(sandbox, '/api/v2/invoices'))).toEqual(invoices);
      expect(byId(await requestAll(sandbox, '/api/v2/invoices?status=Unpaid&date_from=2025-01-01'))).toEqual(
        invoices.filter(row => row.status === 'Unpaid' && (row.date ?? '') >= '2025-01-01'),
      );
      expect((await request(sandbox, '/api/v2/transactions')).body.meta.total_records).toBe(
        [...sandbox.rows('transactions')].length,
      );
    }
  });

  test('single rows can be inserted, updated, removed and restored', async () => {
    const sandbox = await openForTest();
    const { id } = sandbox.insert('transactions', {
      type: 'Income',
      account_id: 1,
      category_id: null,
      amount: '12345678901234567.89',
      description: 'Exact',
      date: '2019-02-03',
    });
    expect((await request(sandbox, '/api/v2/transactions?date_to=2019-02-03&date_from=2019-02-03')).text).toContain(
      '"amount":12345678901234567.89',
    );
    sandbox.update('transactions', id, { date: '2019-02-04' });
    expect((await request(sandbox, '/api/v2/transactions?date_to=2019-02-03&date_from=2019-02-03')).body.data).toEqual(
      [],
    );
    expect(sandbox.remove('transactions', id)).toBe(true);
    expect(sandbox.remove('transactions', id)).toBe(false);
    expect(sandbox.update('transactions', id, { account_id: 2 })).toBeUndefined();
    expect((await request(sandbox, '/api/v2/transactions?limit=1')).body.data[0].id).not.toBe(id);
    expect(sandbox.restore('transactions', id)).toBe(true);
    expect((await request(sandbox, '/api/v2/transactions?limit=1')).body.data[0]).toMatchObject({
      id,
      date: '2019-02-04',
    });
  });

  test('invalid values are stored and returned unchanged', async () => {
    const sandbox = await openForTest();
    const { id } = sandbox.change('invoice-new');
    const wrong = {
      amount: {},
      items: [null, 5, { qty: 'many' }],
      status: null,
      customer_id: 'nobody',
      date: '2026-13-45',
    };
    sandbox.update('invoices', id, wrong as never);
    sandbox.update('invoices', id, { due_date: undefined } as never);
    for (const numbers of ['numbers', 'strings'] as const) {
      sandbox.setVariants({ numbers });
      const shown = (await request(sandbox, '/api/v2/invoices?limit=1')).body.data[0];
      expect(shown).toMatchObject(wrong);
      expect(shown).not.toHaveProperty('due_date');
    }
    expect(sandbox.stats.failures).toEqual([]);
  });

  test('a change is an error if no row qualifies', async () => {
    const sandbox = await openForTest({ size: { customers: 0, invoices: 0, transactions: 0 } });
    expect(() => sandbox.change('invoice-paid')).toThrow('No row qualifies for invoice-paid.');
    expect(sandbox.change('invoice-new').id).toBe(1);
  });
});

describe('activity', () => {
  test('happens at an even pace of the clock and is visible at the next request', async () => {
    const clock = createManualClock();
    const sandbox = await openForTest({ clock, activityPerMinute: 6 });
    expect(sandbox.changes).toHaveLength(0);
    clock.advance(10 * MINUTE + 9_999);
    await request(sandbox, '/api/v2/customers');
    expect(sandbox.changes).toHaveLength(60);
    expect(sandbox.changes[5]?.at).toBe(Date.parse(`${TODAY}T12:01:00Z`));
    clock.advance(1);
    expect(sandbox.changes).toHaveLength(61);
  });

  test('changes carry the time at which they were due', async () => {
    const clock = createManualClock();
    const sandbox = await openForTest({ clock, activityPerMinute: 60 });
    clock.advance(5 * MINUTE);
    const edited = sandbox.changes.filter(({ kind }) => kind === 'customer-new').at(-1);
    expect(sandbox.data.customers.get(edited?.id as number)?.created_at).toBe(
      new Date(edited?.at as number).toISOString().replace('.000Z', 'Z'),
    );
  });
});
