import { describe, expect, it, onTestFinished } from 'vitest';
import {
  endlessFaults,
  type Fault,
  faultKinds,
  isListFault,
  type ListFault,
} from '../../sandbox/faults/fault-kinds.ts';
import { openSandbox, type SandboxOptions } from '../../sandbox/sandbox.ts';
import { createMemoryBudget } from '../../src/budget/memory-budget.ts';
import { SECOND } from '../../src/clock.ts';
import { SluiceError } from '../../src/errors.ts';
import { type ClientOptions, isTimeout, openClient } from '../../src/source/client.ts';
import { countingBudget } from '../budget/counting-budget.ts';
import { autoClock } from '../support/manual-clock.ts';

const KEY = 'sk_live_51H+8a/secret=';
const PATH = '/api/v2/customers';
const REDIRECTED = 'not followed because no other address may receive the key';
const MIB = 2 ** 20;

/** The client's description of each lasting fault, once it has given up. */
const SAID: Record<Exclude<keyof typeof faultKinds, ListFault>, string> = {
  'json-500': 'HTTP 500 with a JSON error',
  'html-500': 'HTTP 500 with an HTML page',
  'json-502': 'HTTP 502 with a JSON error',
  'html-502': 'HTTP 502 with an HTML page',
  'json-503': 'HTTP 503 with a JSON error',
  'html-503': 'HTTP 503 with an HTML page',
  'json-503-seconds': 'HTTP 503 with a JSON error',
  'html-503-date': 'HTTP 503 with an HTML page',
  'json-429': 'HTTP 429, too many requests at once',
  'json-429-seconds': 'HTTP 429, too many requests at once',
  'json-429-date': 'HTTP 429, too many requests at once',
  'html-429': 'HTTP 429, too many requests at once',
  'html-429-seconds': 'HTTP 429, too many requests at once',
  'html-429-date': 'HTTP 429, too many requests at once',
  'success-false': 'HTTP 200 with success: false (Temporarily out of order)',
  'success-falsy': 'HTTP 200 with success: "" (Temporarily out of order)',
  'error-200': 'HTTP 200 with an error (Temporarily out of order)',
  'html-200': 'HTTP 200 with an HTML page',
  'empty-200': 'HTTP 200 with an empty body',
  'cut-json': 'HTTP 200 with cut-off or invalid JSON',
  hang: 'no complete answer from http://127.0.0.1:{port} within 0.3 s',
  'hang-body': 'no complete answer from http://127.0.0.1:{port} within 0.3 s',
  drip: 'no complete answer from http://127.0.0.1:{port} within 0.3 s',
  drop: 'the connection broke off',
  reset: 'the connection broke off',
  'reset-body': 'the connection broke off',
  'redirect-path': `HTTP 301, a redirect to /login on the same host, ${REDIRECTED}`,
  'redirect-loop': `HTTP 302, a redirect to {path} on the same host, ${REDIRECTED}`,
  'redirect-host': `HTTP 302, a redirect to https://elsewhere.invalid{path}, ${REDIRECTED}`,
  huge: `HTTP 200 with a body of more than ${MIB} bytes`,
  'huge-gzip': `HTTP 200 with a body of more than ${MIB} bytes`,
  'wrong-encoding': 'a body that is not valid gzip (incorrect header check)',
};

const isEndless = (fault: Fault) => endlessFaults.some(endless => endless === fault);
const lasting = (Object.keys(faultKinds) as Fault[]).filter(fault => !isListFault(fault)) as (keyof typeof SAID)[];

async function setUp(
  options: { auth?: 'bearer' | 'query'; more?: Partial<ClientOptions>; sandbox?: SandboxOptions } = {},
) {
  const { auth = 'bearer' } = options;
  const clock = autoClock();
  const sandbox = await openSandbox({ apiKey: KEY, clock, ...options.sandbox });
  onTestFinished(() => sandbox.close());
  const budget = countingBudget(createMemoryBudget({ clock, limit: 1000 }));
  const client = openClient({
    url: sandbox.url,
    apiKey: KEY,
    auth,
    budget,
    concurrency: 4,
    timeoutMs: 60 * SECOND,
    maxBodyBytes: MIB,
    clock,
    random: () => 1,
    ...options.more,
  });
  onTestFinished(() => client.close());
  const list = (attempts?: number) =>
    client.list(PATH, {}, { page: 1 }, { lane: 'live', purpose: 'test', ...(attempts !== undefined && { attempts }) });
  return { sandbox, budget, client, clock, list };
}

describe('a single fault is retried after a wait, with a grant of its own', () => {
  it.each(lasting)('%s', async fault => {
    // Long enough for the valid answer that comes next, on a busy machine.
    const { sandbox, list, budget, clock } = await setUp(isEndless(fault) ? { more: { timeoutMs: 2 * SECOND } } : {});
    sandbox.failNext(fault);
    expect(await list()).toMatchObject({ kind: 'rows', requests: 2, meta: { totalRecords: 150 } });
    const asked = /seconds|date/.test(fault) ? 5 : 1;
    expect(clock.slept).toHaveLength(1);
    expect(clock.slept[0]).toBeGreaterThanOrEqual(asked * SECOND);
    expect(clock.slept[0]).toBeLessThanOrEqual((asked + 1) * SECOND);
    expect([budget.open(), budget.settled.length, budget.released.length]).toEqual([0, 2, 0]);
  });
});

describe('a lasting fault ends in an error that says what failed, where, and what to do, without the key', () => {
  it.each(lasting)('%s', async fault => {
    for (const auth of ['bearer', 'query'] as const) {
      const { sandbox, list, budget } = await setUp({
        auth,
        sandbox: { faults: { [fault]: 1 } },
        ...(isEndless(fault) && { more: { timeoutMs: 300 } }),
      });
      const error = (await list(2).catch((reason: unknown) => reason)) as SluiceError;
      expect(error).toBeInstanceOf(SluiceError);
      const tries = fault.includes('-429') ? 24 : 2;
      const path = auth === 'query' ? '/' : PATH;
      const said = SAID[fault].replace('{port}', String(sandbox.port)).replace('{path}', path);
      expect(error.message).toBe(`GET ${PATH}?page=1 failed ${tries} times: ${said}`);
      expect(error.kind).toBe(fault.startsWith('huge') ? 'refused' : 'unavailable');
      const setting = fault.startsWith('huge') ? 'PAGE_SIZE' : fault.includes('-429') ? 'CONCURRENCY' : 'URL';
      expect(error.next).toMatch(
        new RegExp(`SOURCE_${setting}${setting === 'PAGE_SIZE' ? '' : '.*the next run continues'}`),
      );
      expect(isTimeout(error)).toBe(isEndless(fault));
      expect([sandbox.stats.total, budget.open(), budget.settled.length]).toEqual([tries, 0, tries]);
      const shown = [error.message, error.stack, error.next, String(error.cause), JSON.stringify(error)].join('\n');
      for (const form of [KEY, encodeURIComponent(KEY), 'sk_live']) expect(shown).not.toContain(form);
    }
  });
});

it('several huge bodies at once, at the default cap, do not exhaust the memory of the client', async () => {
  const { sandbox, list, client } = await setUp({ more: { maxBodyBytes: 64 * MIB } });
  sandbox.failNext('huge', 2);
  sandbox.failNext('huge-gzip', 2);
  const answers = await Promise.all([list(), list(), list(), list()]);
  expect(answers.every(({ kind }) => kind === 'rows')).toBe(true);
  expect(sandbox.stats.total).toBe(8);
  expect(await client.get(`${PATH}/1`, { lane: 'live', purpose: 'test' })).toMatchObject({ kind: 'one' });
});

it('faulty answers that look valid are accepted, because only the rest of the list can show the fault', async () => {
  const { sandbox, list } = await setUp();
  sandbox.failNext('row-twice');
  expect(await list()).toMatchObject({ requests: 1, rows: { length: 21 }, meta: { totalRecords: 150 } });
  sandbox.failNext('missing-meta');
  expect(await list()).not.toHaveProperty('meta');
  sandbox.failNext('empty-list');
  expect(await list()).toMatchObject({ requests: 1, rows: [], meta: { totalRecords: 150 } });
});
