import { expect, test } from 'vitest';
import { DAY, HOUR } from '../../../src/clock.ts';
import type { Resource } from '../../../src/sandbox/data/rows.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { ask, createManualClock, openForTest } from '../test-client.ts';
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
const listOf = async (sandbox: Sandbox) => (await ask(sandbox, '/api/v2/customers')).text;

test('at midnight UTC all data are as they were at the start, day after day', async () => {
  const clock = createManualClock();
  const sandbox = await openForTest({ clock, dailyReset: true });
  const [start, list] = [contents(sandbox), await listOf(sandbox)];
  for (const hours of [12, 24]) {
    const { id } = (await ask(sandbox, '/api/v2/customers', { body: { account: 'New' } })).body.data;
    await ask(sandbox, '/api/v2/leads', { body: { first_name: 'Ada', last_name: 'Smith' } });
    sandbox.changeRandom(50);
    sandbox.changeOthers(50);
    const changed = contents(sandbox);
    clock.advance(hours * HOUR - 1);
    expect(contents(sandbox)).toBe(changed);
    clock.advance(1);
    expect(await listOf(sandbox)).toBe(list);
    expect((await ask(sandbox, `/api/v2/customers/${id}`)).status).toBe(404);
    expect(contents(sandbox)).toBe(start);
  }
});

test('without the option nothing is reset', async () => {
  const clock = createManualClock();
  const sandbox = await openForTest({ clock });
  sandbox.changeRandom(10);
  const changed = contents(sandbox);
  clock.advance(3 * DAY);
  expect(contents(sandbox)).toBe(changed);
});

test('what is registered is forgotten', async () => {
  const clock = createManualClock();
  const sandbox = await openForTest({ clock, dailyReset: true });
  const { received, url } = await openReceiver();
  await ask(sandbox, '/api/v2/webhooks', { body: { url, events: ['invoice.created'] } });
  sandbox.change('invoice-new');
  await sandbox.webhooksSent();
  expect(received).toHaveLength(1);
  clock.advance(12 * HOUR);
  sandbox.change('invoice-new');
  await sandbox.webhooksSent();
  expect(received).toHaveLength(1);
});

test('what is registered as the first of a day is kept', async () => {
  const clock = createManualClock();
  const sandbox = await openForTest({ clock, dailyReset: true });
  const { received, url } = await openReceiver();
  clock.advance(12 * HOUR);
  await ask(sandbox, '/api/v2/webhooks', { body: { url, events: ['invoice.created'] } });
  await ask(sandbox, '/api/v2/customers');
  sandbox.change('invoice-new');
  await sandbox.webhooksSent();
  expect(received).toHaveLength(1);
});

test('changes due before midnight are gone, those due after it are there', async () => {
  const clock = createManualClock();
  const sandbox = await openForTest({ clock, dailyReset: true, activityPerMinute: 1, otherActivityPerMinute: 1 });
  const start = contents(sandbox);
  clock.advance(12 * HOUR);
  // The change due at midnight itself belongs to the new day.
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
