import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { otherChangeKinds } from '../../../sandbox/changes/other-changes.ts';
import type { Sandbox } from '../../../sandbox/sandbox.ts';
import { MINUTE } from '../../../src/clock.ts';
import { createManualClock, idsOf, openForTest, request, requestAll, TODAY } from '../test-client.ts';

const others = ['products', 'quotes', 'tickets', 'users', 'orders', 'suppliers', 'purchases'] as const;

function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16);
}

const contents = (sandbox: Sandbox, resource: (typeof others)[number]) =>
  new Map([...sandbox.rows(resource)].map(row => [row.id, JSON.stringify(row)]));

describe('one change of each kind', () => {
  test.for(otherChangeKinds)('%s touches one row, and the API shows it', async kind => {
    const sandbox = await openForTest({ rateLimit: 0 });
    const resource = `${kind.split('-')[0]}s` as (typeof others)[number];
    const before = contents(sandbox, resource);
    const change = sandbox.changeOther(kind);
    expect(change).toEqual({ kind, resource, id: change.id, at: sandbox.now() });
    expect(sandbox.otherChanges).toEqual([change]);

    const shown = await requestAll(sandbox, `/api/v2/${resource}`);
    const after = new Map(shown.map(row => [row.id, JSON.stringify(row)]));
    expect([...new Set([...before.keys(), ...after.keys()])].filter(id => before.get(id) !== after.get(id))).toEqual([
      change.id,
    ]);
    expect(before.has(change.id)).toBe(!kind.endsWith('-new'));
    expect(after.has(change.id)).toBe(!kind.endsWith('-deleted'));
    if (kind !== 'ticket-moved') return;
    const [was, is] = [JSON.parse(before.get(change.id) as string), JSON.parse(after.get(change.id) as string)];
    expect({ ...was, status: is.status, department_id: is.department_id }).toEqual(is);
  });
});

describe('random sequences', () => {
  test('data and changes of customers, invoices and transactions are the same as in every earlier version', async () => {
    const known = [
      [5, 'bbfcbcea0e783168 168ed4d4a422a018 2c2163a4ebac882a', 'e6b8ed0861ea22c8'],
      [11, '565adcb3263031ef 338f216a6f01b7a1 043721ddf2bd75bc', '2d3902b2c98b57ba'],
    ] as const;
    const changed = [
      '3a1e144309ad0397 ae6fe1467eb69924 766b53b2b7aacb21',
      '7deb0b751e9fdc8f 440d104ca3360d99 9d320ab42cc439c6',
    ];
    for (const [index, [seed, data, changes]] of known.entries()) {
      const sandbox = await openForTest({ seed });
      const digests = () =>
        (['customers', 'invoices', 'transactions'] as const).map(name => digest([...sandbox.rows(name)])).join(' ');
      expect(digests()).toBe(data);
      const made = Array.from({ length: 30 }, () => {
        // Changes of the other lists must not affect these.
        sandbox.changeOthers(3);
        return sandbox.changeRandom(10);
      });
      expect(digest(made.flat())).toBe(changes);
      expect(digests()).toBe(changed[index]);
    }
  });

  test('the same seed gives the same changes of the other lists, and every kind occurs', async () => {
    const [one, two, three] = [await openForTest(), await openForTest(), await openForTest({ seed: 2 })];
    expect(one.changeOthers(300)).toEqual(two.changeOthers(300));
    expect(three.changeOthers(300)).not.toEqual(one.otherChanges);
    for (const resource of others) expect([...one.rows(resource)]).toEqual([...two.rows(resource)]);
    expect(new Set(one.otherChanges.map(({ kind }) => kind))).toEqual(new Set(otherChangeKinds));
    expect(one.changes).toEqual([]);
  });

  test('activity on both groups happens in order of due time and does not affect the main changes', async () => {
    const clock = createManualClock();
    const mixed = await openForTest({ clock, activityPerMinute: 6, otherActivityPerMinute: 3 });
    const alone = await openForTest({ clock, activityPerMinute: 6 });
    clock.advance(10 * MINUTE);
    expect(mixed.changes).toHaveLength(60);
    expect(mixed.changes).toEqual(alone.changes);
    expect(mixed.otherChanges).toHaveLength(30);
    expect(mixed.otherChanges[2]?.at).toBe(Date.parse(`${TODAY}T12:01:00Z`));
  });
});

describe('list variants apply to the other lists', () => {
  test('order=updated-desc and updated-asc', async () => {
    const sandbox = await openForTest({ variants: { order: 'updated-desc' }, rateLimit: 0 });
    for (const kind of ['product-edited', 'quote-edited', 'ticket-moved', 'user-edited', 'order-edited'] as const) {
      sandbox.setVariants({ order: 'updated-desc' });
      const { resource, id } = sandbox.changeOther(kind);
      expect((await request(sandbox, `/api/v2/${resource}?limit=1`)).body.data[0].id).toBe(id);
      sandbox.setVariants({ order: 'updated-asc' });
      expect((await requestAll(sandbox, `/api/v2/${resource}`)).at(-1).id).toBe(id);
    }
  });

  test('paging, limit-max, order and visible', async () => {
    const size = { customers: 2_000, invoices: 0, transactions: 0 };
    const sandbox = await openForTest({ size, rateLimit: 0 });
    for (const resource of ['products', 'quotes', 'tickets', 'orders', 'purchases'] as const) {
      const list = async (query: string) => (await request(sandbox, `/api/v2/${resource}?${query}`)).body;
      const ids = idsOf([...sandbox.rows(resource)]);
      expect(ids.length).toBeGreaterThan(200);
      sandbox.setVariants({ paging: 'whole', order: 'id-asc' });
      expect(idsOf((await list('limit=5&page=2')).data)).toEqual(ids);
      sandbox.setVariants({ paging: 'capped', cap: '100', order: 'id-desc' });
      expect(idsOf((await list('page=2')).data)).toEqual(ids.toReversed().slice(0, 100));
      sandbox.setVariants({ paging: 'ignored', 'limit-max': '20-reject' });
      expect((await list('limit=21')).errors).toHaveProperty('limit');
      expect(idsOf((await list('limit=7&page=3')).data)).toEqual(ids.toReversed().slice(0, 7));
      sandbox.setVariants({ paging: 'meta', order: 'shuffled', 'limit-max': '100', visible: 'half' });
      const seen = idsOf(await requestAll(sandbox, `/api/v2/${resource}`));
      expect(seen.toSorted((a, b) => a - b)).toEqual(ids.filter(id => id % 2 === 0));
      expect(seen).not.toEqual(ids.filter(id => id % 2 === 0));
      sandbox.setVariants({ visible: 'all' });
    }
  });

  test('other-ids=no: products, quotes, tickets and users are listed without ids, the invented lists with them', async () => {
    const sandbox = await openForTest({ variants: { 'other-ids': 'no' } });
    for (const resource of others) {
      const { data } = (await request(sandbox, `/api/v2/${resource}`)).body;
      const bare = ['products', 'quotes', 'tickets', 'users'].includes(resource);
      expect(data.every((row: object) => 'id' in row !== bare)).toBe(true);
    }
  });
});
