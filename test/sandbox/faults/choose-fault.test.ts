import { expect, test } from 'vitest';
import type { Fault } from '../../../sandbox/faults/fault-kinds.ts';
import { parseFaultPlan } from '../../../sandbox/parse/parse-faults.ts';
import type { Sandbox, SandboxOptions } from '../../../sandbox/sandbox.ts';
import { openForTest, request } from '../test-client.ts';

const CUSTOMERS = '/api/v2/customers';

const open = (options: SandboxOptions = {}) => openForTest({ rateLimit: 0, ...options });

/** A sandbox whose next request fails. */
async function openFailing(fault: Fault, options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await open(options);
  sandbox.failNext(fault);
  return sandbox;
}

const statusesOf = async (sandbox: Sandbox, count: number, path = CUSTOMERS) => {
  const statuses: number[] = [];
  for (let index = 0; index < count; index += 1) statuses.push((await request(sandbox, path)).status);
  return statuses;
};
const failed = (statuses: number[]) => statuses.flatMap((status, index) => (status === 200 ? [] : [index + 1]));

test('the variant `fault` fails every tenth request', async () => {
  const sandbox = await open({ variants: { fault: 'json-500' } });
  expect(failed(await statusesOf(sandbox, 20))).toEqual([10, 20]);
});

test('rates fail about the given share of requests, and the same ones for the same seed', async () => {
  const runs: number[][] = [];
  for (const seed of [1, 1, 2]) {
    const sandbox = await open({ seed, faults: { 'json-500': 0.2, 'html-502': 0.1 } });
    const statuses = await statusesOf(sandbox, 200);
    expect(failed(statuses).length).toBeGreaterThan(30);
    expect(failed(statuses).length).toBeLessThan(90);
    expect(new Set(statuses)).toEqual(new Set([200, 500, 502]));
    runs.push(statuses);
  }
  expect(runs[0]).toEqual(runs[1]);
  expect(runs[0]).not.toEqual(runs[2]);
});

test('a plan fails the given number of requests to a path, from a request number on', async () => {
  const faultPlan = parseFaultPlan(`2 json-500\n4 html-503 2 ${CUSTOMERS}\n9 hang 999999999 /never`);
  const sandbox = await open({ faultPlan });
  expect(await statusesOf(sandbox, 3)).toEqual([200, 500, 200]);
  expect(await statusesOf(sandbox, 2, '/api/v2/users')).toEqual([200, 200]);
  expect(await statusesOf(sandbox, 3)).toEqual([503, 503, 200]);
});

test('a list fault waits for a list', async () => {
  const sandbox = await openFailing('empty-list');
  expect((await request(sandbox, `${CUSTOMERS}/1`)).body.data.id).toBe(1);
  expect((await request(sandbox, CUSTOMERS)).body.data).toEqual([]);
  expect((await request(sandbox, CUSTOMERS)).body.data).toHaveLength(20);
});

test('requests without the key or beyond the limit have no fault', async () => {
  const sandbox = await open({ rateLimit: 2, faults: { 'html-502': 1 } });
  expect((await request(sandbox, CUSTOMERS, { key: 'other' })).status).toBe(401);
  expect(await statusesOf(sandbox, 3)).toEqual([502, 502, 429]);
});
