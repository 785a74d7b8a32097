import { expect, test } from 'vitest';
import type { SandboxOptions } from '../../../sandbox/sandbox.ts';
import { MINUTE, SECOND } from '../../../src/clock.ts';
import { createManualClock, openForTest, request } from '../test-client.ts';

async function open(stale: NonNullable<NonNullable<SandboxOptions['variants']>['stale']>) {
  const clock = createManualClock();
  const sandbox = await openForTest({ clock, rateLimit: 0, variants: { stale, 'limit-max': 'honoured' } });
  const customers = async () => (await request(sandbox, '/api/v2/customers?limit=2000')).body;
  const account = async (id: number) => (await request(sandbox, `/api/v2/customers/${id}`)).body?.data?.account;
  return { clock, sandbox, customers, account };
}

test('stale=replica: no read shows a change younger than 3 s, and every read one older than 60 s', async () => {
  const { clock, sandbox, customers, account } = await open('replica');
  const before = (await account(7)) as string;
  sandbox.update('customers', 7, { account: 'Edited' });
  sandbox.remove('customers', 8);
  const { id } = sandbox.insert('customers', {
    ...sandbox.rows('customers')[Symbol.iterator]().next().value,
    account: 'New',
  });
  clock.advance(3 * SECOND - 1);
  for (let read = 0; read < 20; read += 1) {
    expect(await account(7)).toBe(before);
    const { data, meta } = await customers();
    expect([data.length, meta.total_records]).toEqual([150, 150]);
    expect(data.some((row: { id: number }) => row.id === id)).toBe(false);
    expect(data.some((row: { id: number }) => row.id === 8)).toBe(true);
  }
  clock.advance(27 * SECOND);
  const seen = new Set<string>();
  for (let read = 0; read < 40; read += 1) seen.add(await account(7));
  expect(seen).toEqual(new Set([before, 'Edited']));
  clock.advance(30 * SECOND + 1);
  for (let read = 0; read < 20; read += 1) {
    expect(await account(7)).toBe('Edited');
    const { data } = await customers();
    expect(data.find((row: { id: number }) => row.id === 7).account).toBe('Edited');
    expect(data.some((row: { id: number }) => row.id === 8)).toBe(false);
    expect(data.some((row: { id: number }) => row.id === id)).toBe(true);
  }
});

test('stale=replica: the rows themselves are never stale, and a restored row may be absent', async () => {
  const { clock, sandbox, customers } = await open('replica');
  sandbox.remove('customers', 8);
  clock.advance(2 * MINUTE);
  sandbox.restore('customers', 8);
  expect((await customers()).data).toHaveLength(149);
  expect([...sandbox.rows('customers')]).toHaveLength(150);
  clock.advance(MINUTE);
  expect((await customers()).data).toHaveLength(150);
});

test('stale=replica: a list of more rows than one chunk comes from one state', async () => {
  const { sandbox } = await open('replica');
  const path = '/api/v2/transactions?limit=5000';
  const before = (await request(sandbox, path)).text;
  sandbox.changeRandom(200);
  expect((await request(sandbox, path)).text).toBe(before);
});

test('stale=cache: an answer is repeated for its address for 60 s, and other addresses show the change', async () => {
  const { clock, sandbox, customers, account } = await open('cache');
  const before = await account(7);
  await customers();
  sandbox.update('customers', 7, { account: 'Edited' });
  sandbox.remove('customers', 8);
  clock.advance(MINUTE - 1);
  expect([await account(7), (await customers()).data.length]).toEqual([before, 150]);
  expect((await request(sandbox, '/api/v2/customers?limit=1999')).body.data).toHaveLength(149);
  clock.advance(1);
  expect([await account(7), (await customers()).data.length]).toEqual(['Edited', 149]);
});
