import { expect, test } from 'vitest';
import type { Resource } from '../../../sandbox/data/rows.ts';
import type { Sandbox } from '../../../sandbox/sandbox.ts';
import { DAY, HOUR } from '../../../src/clock.ts';
import { createManualClock, openForTest, request } from '../test-client.ts';
import { openReceiver } from '../webhook-receiver.ts';

const resources: readonly Resource[] = [
  'customers',
  'invoices',
  'transactions',
  'products',
  'quotes',
  'tickets',
  'leads',
  'users',
  'orders',
  'suppliers',
  'purchases',
];

const contents = (sandbox: Sandbox) => JSON.stringify(resources.map(resource => [...sandbox.rows(resource)]));
const listOf = async (sandbox: Sandbox) => (await request(sandbox, '/api/v2/customers')).text;

test('the data returns to its initial state at every midnight UTC', async () => {
  const clock = createManualClock();
  const sandbox = await openForTest({ clock, dailyReset: true });
  const [start, list] = [contents(sandbox), await listOf(sandbox)];
  for (const hours of [12, 24]) {
    const { id } = (await request(sandbox, '/api/v2/customers', { body: { account: 'New' } })).body.data;
    await request(sandbox, '/api/v2/leads', { body: { first_name: 'Ada', last_name: 'Smith' } });
    sandbox.changeRandom(50);
    sandbox.changeOthers(50);
    const changed = contents(sandbox);
    clock.advance(hours * HOUR - 1);
    expect(contents(sandbox)).toBe(changed);
    clock.advance(1);
    expect(await listOf(sandbox)).toBe(list);
    expect((await request(sandbox, `/api/v2/customers/${id}`)).status).toBe(404);
    expect(contents(sandbox)).toBe(start);
  }
});

test('without the option there is no reset', async () => {
  const clock = createManualClock();
  const sandbox = await openForTest({ clock });
  sandbox.changeRandom(10);
  const changed = contents(sandbox);
  clock.advance(3 * DAY);
  expect(contents(sandbox)).toBe(changed);
});

test('a reset removes registered webhooks', async () => {
  const clock = createManualClock();
  const sandbox = await openForTest({ clock, dailyReset: true });
  const { received, url } = await openReceiver();
  await request(sandbox, '/api/v2/webhooks', { body: { url, events: ['invoice.created'] } });
  sandbox.change('invoice-new');
  await sandbox.webhooksSent();
  expect(received).toHaveLength(1);
  clock.advance(12 * HOUR);
  sandbox.change('invoice-new');
  await sandbox.webhooksSent();
  expect(received).toHaveLength(1);
});

test('a webhook registered by the first request of a day is kept', async () => {
  const clock = createManualClock();
  const sandbox = await openForTest({ clock, dailyReset: true });
  const { received, url } = await openReceiver();
  clock.advance(12 * HOUR);
  await request(sandbox, '/api/v2/webhooks', { body: { url, events: ['invoice.created'] } });
  await request(sandbox, '/api/v2/customers');
  sandbox.change('invoice-new');
  await sandbox.webhooksSent();
  expect(received).toHaveLength(1);
});

test('activity due before midnight is reset, activity due at midnight is kept', async () => {
  const clock = createManualClock();
  const sandbox = await openForTest({ clock, dailyReset: true, activityPerMinute: 1, otherActivityPerMinute: 1 });
  const start = contents(sandbox);
  clock.advance(12 * HOUR);
  // A change due at midnight belongs to the new day.
  sandbox.insert('leads', { first_name: 'A', last_name: 'B', email: null, company: null, phone: null, source: null });
  expect(sandbox.changes).toHaveLength(720);
  const fresh = await openForTest({ clock: createManualClock() });
  expect(contents(sandbox)).not.toBe(start);
  expect(contents(fresh)).toBe(start);
  const today = [sandbox.changes.at(-1), sandbox.otherChanges.at(-1)];
  for (const change of today) expect(change?.at).toBe(sandbox.now());
  const differing = resources.filter(
    resource => JSON.stringify([...sandbox.rows(resource)]) !== JSON.stringify([...fresh.rows(resource)]),
  );
  expect(new Set(differing)).toEqual(new Set([...today.map(change => change?.resource), 'leads']));
});
