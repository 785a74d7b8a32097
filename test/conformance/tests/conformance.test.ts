import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { MINUTE, SECOND } from '../../../src/clock.ts';
import { endlessFaults } from '../../../src/sandbox/faults/fault-kinds.ts';
import { openSandbox, type Sandbox, type SandboxOptions } from '../../../src/sandbox/sandbox.ts';
import { variantPoints } from '../../../src/sandbox/variants/variant-points.ts';
import type { Variants } from '../../../src/sandbox/variants/variants.ts';
import { createManualClock, openForTest } from '../../sandbox/test-client.ts';
import { isAll } from '../checks/check-dates.ts';
import type { Finding } from '../findings/finding.ts';
import { showReport } from '../format-report.ts';
import { LIST_NAMES, ROUND } from '../lists/documented-lists.ts';
import { type ProbeOptions, probe } from '../probe.ts';
import { MOST_REQUESTS } from '../requests/requester.ts';
import { openInBetween, type Passed } from './proxy.ts';

/** Values that no reading of a few requests tells from others, and why. */
const UNSEEN: Readonly<Record<string, string>> = {
  'rejected-count=no': 'it would take the limit to be used up',
  'rejected-count=yes': 'it would take the limit to be used up',
  'fault=list-changes': 'a list that changes is no fault',
  'visible=all': 'what a key may not see is not seen',
  'visible=half': 'it looks like a smaller installation',
  'webhooks=once': 'a registration cannot be undone',
  'webhooks=twice': 'a registration cannot be undone',
  'webhooks=swapped': 'a registration cannot be undone',
  'webhooks=never': 'a registration cannot be undone',
};
/** Seen only in the answer to a request beyond the limit. */
const BEYOND_LIMIT = ['retry-after', 'rejected-body'];
const WRITTEN = ['validation', 'batch'];

const all = Object.entries(variantPoints).flatMap(([point, { values }]) =>
  Object.keys(values).map(value => [point, value] as const),
);
const ofReading = all.filter(
  ([point, value]) => !BEYOND_LIMIT.includes(point) && UNSEEN[`${point}=${value}`] === undefined,
);

async function openWith(variants: Partial<Variants>, options: SandboxOptions = {}) {
  const clock = createManualClock();
  // Not on the hour, where windows of every kind look the same.
  clock.advance(17 * MINUTE);
  const sandbox = await openForTest({ clock, variants, ...options });
  const run = (given: Partial<ProbeOptions> = {}) =>
    probe({
      url: sandbox.url,
      apiKey: sandbox.apiKey,
      auth: 'bearer',
      clock,
      timeoutMs: 30 * SECOND,
      write: false,
      jobs: LIST_NAMES,
      ...given,
    });
  return { sandbox, run };
}

const seenOf = (findings: readonly Finding[], point: string) => findings.filter(each => each.point === point);
const methodsOf = (sandbox: Sandbox) => [...new Set(sandbox.stats.requests.map(({ method }) => method))];
const notHandled = (findings: readonly Finding[]) => findings.filter(({ handled }) => handled?.startsWith('not'));

test.for(ofReading)('%s=%s is told, and nothing else that is not so', async ([point, value]) => {
  const given = { [point]: value, ...(point === 'cap' && { paging: 'capped' }) } as Partial<Variants>;
  const { sandbox, run } = await openWith(given);
  const endless = endlessFaults.some(fault => fault === value);
  const write = WRITTEN.includes(point);
  const { findings, requests, stopped } = await run({ write, ...(endless && { timeoutMs: 700 }) });

  expect(seenOf(findings, point).map(({ seen }) => seen?.split(/, |\|/))).toEqual([expect.arrayContaining([value])]);
  if (point !== 'fault') expect(seenOf(findings, point)[0]?.seen).toBe(value);
  const wrong = findings.filter(each => {
    const is = sandbox.variants[each.point as keyof Variants];
    return each.seen !== null && is !== undefined && each.point !== 'fault' && each.seen !== is;
  });
  // A single 429 shows what one looks like, and one that is a fault need not look like those of the limit.
  expect(wrong.filter(each => !(value.includes('429') && BEYOND_LIMIT.includes(each.point)))).toEqual([]);
  expect(notHandled(findings)).toEqual([]);
  expect(stopped).toBeNull();
  expect(requests).toBe(sandbox.stats.total);
  expect(requests).toBeLessThanOrEqual(MOST_REQUESTS);
  if (!write) expect(methodsOf(sandbox)).toEqual(['GET']);
});

describe('what comes of requests beyond the limit', () => {
  test.for(all.filter(([point]) => BEYOND_LIMIT.includes(point)))(
    '%s=%s, where the limit was used up before',
    async ([point, value]) => {
      const { sandbox, run } = await openWith({ [point]: value });
      sandbox.spend(1000);
      const { findings, requests, ok, stopped } = await run();
      expect(seenOf(findings, point)).toMatchObject([{ seen: value, handled: 'yes' }]);
      expect(seenOf(findings, 'paging')).toMatchObject([{ seen: null, handled: null }]);
      expect([requests, ok]).toEqual([1, false]);
      expect(stopped).toContain('limit is used up');
    },
  );

  test('a key that others use keeps a few requests: no 429 is ever brought about', async () => {
    const { sandbox, run } = await openWith({});
    sandbox.spend(980);
    const { ok, requests, stopped, findings } = await run();
    // 15 of the key, and the one with a wrong key.
    expect([ok, requests, sandbox.stats.rejected]).toEqual([false, 16, 0]);
    expect(stopped).toBe('only 5 requests are left to this key until its limit resets');
    expect(seenOf(findings, 'search')).toMatchObject([{ seen: null, evidence: stopped }]);
  });
});

test.for(['bearer', 'query'] as const)('all that is likely is told and handled, with the key as %s', async auth => {
  const { sandbox, run } = await openWith({});
  const report = await run({ auth });
  expect(report).toMatchObject({ ok: true, stopped: null, written: { created: [], left: [], notOurs: [] } });
  const untold = report.findings.filter(({ seen }) => seen === null).map(({ point }) => point);
  const silent = ['cap', 'retry-after', 'rejected-body', 'rejected-count', 'validation', 'batch', 'writes'];
  expect(untold.sort()).toEqual([...silent, 'webhooks', 'visible'].sort());
  for (const point of Object.keys(variantPoints)) expect(seenOf(report.findings, point).length).toBeGreaterThan(0);

  const text = showReport(report, sandbox.url);
  expect(text.split('\n').filter(line => line.length > 100)).toEqual([]);
  expect(text).toContain(`${report.requests} requests to ${sandbox.url}`);
  expect(text).not.toContain(sandbox.apiKey);
});

test('behaviours that are right alone and not together are not handled', async () => {
  const { run } = await openWith({ paging: 'capped', cap: '100', 'date-filter': 'ignored' });
  const { ok, findings } = await run();
  expect(ok).toBe(false);
  const why = 'only a first part of the list is ever shown';
  expect(notHandled(findings).map(({ point, handled }) => `${point} ${handled}`)).toEqual([
    `paging not: with date-filter=ignored ${why}`,
    `date-filter not: with paging=capped ${why}`,
  ]);
});

test('a list that answers and has no job is told', async () => {
  const { run } = await openWith({});
  const { ok, findings } = await run({ jobs: LIST_NAMES.filter(name => name !== 'quotes') });
  expect(seenOf(findings, 'jobs')).toMatchObject([{ lists: ['quotes'], handled: 'not: nothing reads it' }]);
  expect(ok).toBe(false);
});

describe('a server that does what no variant does', () => {
  const cases: Record<
    string,
    [string, Partial<Finding>, (answer: Passed, path: string, query: URLSearchParams) => Passed]
  > = {
    'time stamps that cannot be read': [
      'timestamps',
      { handled: 'not: such a time stamp is not understood, and its row goes to quarantine' },
      (answer, path) => eachRow(answer, path, 'customers', row => ({ ...row, created_at: '15.01.2026 10:00' })),
    ],
    'pages that are counted and not turned': [
      'paging',
      { lists: ['invoices'], handled: 'not: rows beyond page 1 are not reached' },
      (answer, path, query) => {
        if (path === '/api/v2/invoices' && query.get('page') === '2') answer.body.data = firstInvoices;
        else if (path === '/api/v2/invoices') firstInvoices = answer.body.data.slice(0, 5);
        return answer;
      },
    ],
    'customers without an id': [
      'customer-fields',
      { handled: 'not: rows of this list are stored by their id' },
      (answer, path) => eachRow(answer, path, 'customers', row => ({ ...row, id: undefined })),
    ],
    'a customer that is not there answered with 200': [
      'no-record',
      { handled: 'not: only HTTP 404 proves that a customer is gone' },
      answer => (answer.status === 404 ? { status: 200, body: { success: true, data: null } } : answer),
    ],
    'half of the transactions with an id': [
      'transaction-ids',
      { handled: 'not: some rows have an id and some have none' },
      (answer, path) =>
        eachRow(answer, path, 'transactions', ({ id, ...row }) => (Number(id) % 2 === 0 ? { id, ...row } : row)),
    ],
    'one list in another order than the others': [
      'order',
      { lists: ['invoices'], seen: 'id-asc', handled: 'yes' },
      (answer, path) => {
        if (path === '/api/v2/invoices' && Array.isArray(answer.body.data)) answer.body.data.reverse();
        return answer;
      },
    ],
    'items that are no objects': [
      'values',
      { handled: 'not: their rows go to quarantine' },
      (answer, path) => eachRow(answer, path, 'invoices', row => ({ ...row, items: [null] })),
    ],
    'a list of the document with an error for ever': [
      'lists',
      { lists: ['tickets'], handled: 'not: every reading of such a list ends as a failure' },
      (answer, path) => (path === '/api/v2/tickets' ? { status: 500, body: { success: false } } : answer),
    ],
    'a wrong key that is let in': [
      'auth-error',
      { handled: 'not: whoever asks is let in, with a key or without one' },
      answer => (answer.status === 401 ? { status: 200, body: { success: true, data: [] } } : answer),
    ],
  };
  let firstInvoices: unknown[] = [];

  test.for(Object.entries(cases))('%s', async ([_name, [point, expected, change]]) => {
    const { sandbox, run } = await openWith({});
    const url = await openInBetween(sandbox, (answer, { path, query }) => change(answer, path, query));
    const { ok, findings } = await run({ url });
    const found = seenOf(findings, point).filter(({ seen }) => seen === 'unknown' || point === 'order');
    expect(found).toEqual(expect.arrayContaining([expect.objectContaining(expected)]));
    expect(found[0]?.evidence).not.toBe('');
    expect(ok).toBe(expected.handled === 'yes');
  });

  function eachRow(
    answer: Passed,
    path: string,
    list: string,
    change: (row: Record<string, unknown>) => object,
  ): Passed {
    if (path === `/api/v2/${list}` && Array.isArray(answer.body.data)) answer.body.data = answer.body.data.map(change);
    return answer;
  }
});

describe('a list that takes less than others', () => {
  test.for(['customers', 'invoices'])('%s: a limit that is refused is brought down, and told', async list => {
    const { sandbox, run } = await openWith({});
    const url = await openInBetween(sandbox, (answer, { path, query }) =>
      path === `/api/v2/${list}` && Number(query.get('limit')) > 100
        ? { status: 400, body: { success: false, message: 'The limit is too large' } }
        : answer,
    );
    const { ok, findings, requests } = await run({ url });
    expect(seenOf(findings, 'lists')).toEqual([]);
    expect(seenOf(findings, 'limit-max')).toContainEqual(
      list === 'customers'
        ? expect.objectContaining({ seen: '100-reject', handled: 'yes' })
        : expect.objectContaining({ lists: [list], handled: 'yes', evidence: REFUSED }),
    );
    expect(ok).toBe(true);
    expect(requests).toBeLessThanOrEqual(MOST_REQUESTS);
  });
  const REFUSED = 'limit=1000 is refused with HTTP 400, 100 is taken';

  test.for(['customers', 'invoices'])('%s: a limit that takes too long is brought down, and told', async list => {
    const { sandbox, run } = await openWith({});
    const url = await openInBetween(sandbox, (answer, { path, query }) =>
      path === `/api/v2/${list}` && Number(query.get('limit')) > 500 ? 'no answer' : answer,
    );
    const { ok, findings } = await run({ url, timeoutMs: 700 });
    expect(seenOf(findings, 'lists')).toEqual([]);
    expect(seenOf(findings, 'limit-max')).toContainEqual(
      expect.objectContaining({ handled: 'yes', evidence: 'limit=1000 is not answered in time, 100 is taken' }),
    );
    expect(ok).toBe(true);
  });

  test('lists that refuse every limit are told within the requests of one run', async () => {
    const { sandbox, run } = await openWith({});
    const url = await openInBetween(sandbox, (answer, { path }) =>
      path !== '/api/v2/customers' && path.split('/').length === 4
        ? { status: 400, body: { success: false, message: 'No' } }
        : answer,
    );
    const { findings, stopped, requests } = await run({ url });
    expect(seenOf(findings, 'lists').map(({ lists }) => lists?.[0])).toEqual(LIST_NAMES.slice(1, 7));
    expect(stopped).toBeNull();
    expect(requests).toBeLessThanOrEqual(MOST_REQUESTS);
  });
});

test('a byte order mark before the JSON changes nothing', async () => {
  const { sandbox, run } = await openWith({});
  const plain = await run();
  const url = await openInBetween(sandbox, answer => ({ ...answer, text: `\ufeff${JSON.stringify(answer.body)}` }));
  const { findings, ok } = await run({ url });
  const told = (some: readonly Finding[]) => some.map(({ point, seen }) => `${point} ${seen}`);
  // What the headers tell depends on who asked before.
  const steady = (text: string) => !text.startsWith('rate-');
  expect(told(findings).filter(steady)).toEqual(told(plain.findings).filter(steady));
  expect(ok).toBe(true);
});

test.for([
  [null, 'customers'],
  ['text', 'customers'],
  [[1], 'invoices'],
] as const)('entries %j of a list that are no objects are told', async ([entry, list]) => {
  const { sandbox, run } = await openWith({});
  const url = await openInBetween(sandbox, (answer, { path }) =>
    path === `/api/v2/${list}` && Array.isArray(answer.body.data)
      ? { ...answer, body: { ...answer.body, data: [entry, ...answer.body.data.slice(1)] } }
      : answer,
  );
  const { findings, ok } = await run({ url });
  expect(seenOf(findings, 'values')).toMatchObject([
    { evidence: `1 entries are no objects, e.g. of ${list}`, handled: 'not: their rows go to quarantine' },
  ]);
  expect(seenOf(findings, 'fault')).toMatchObject([{ seen: 'none' }]);
  expect(ok).toBe(false);
});

describe('what is ignored is not taken for honoured', () => {
  test('a filter, where the first rows are all alike', async () => {
    const { sandbox, run } = await openWith({ filters: 'ignored' });
    const url = await openInBetween(sandbox, (answer, { path }) => {
      const alike = (row: object, at: number) => ({ ...row, status: at > 20 && at % 3 === 0 ? 'Unpaid' : 'Paid' });
      if (path === '/api/v2/invoices') answer.body.data = answer.body.data.map(alike);
      return answer;
    });
    const { findings } = await run({ url });
    expect(seenOf(findings, 'filters')).toMatchObject([{ seen: 'ignored' }]);
  });

  test.for([
    [3, 'honoured'],
    [3, 'ignored'],
    [12, 'honoured'],
    [12, 'ignored'],
  ] as const)('a search in %i customers: %s', async ([count, seen]) => {
    const { sandbox, run } = await openWith({}, { size: { customers: count, invoices: 1, transactions: 1 } });
    let whole: unknown;
    const url = await openInBetween(sandbox, (answer, { path, query }) => {
      if (path !== '/api/v2/customers') return answer;
      whole ??= answer.body;
      return query.has('search') && seen === 'ignored' ? { ...answer, body: whole } : answer;
    });
    const { findings } = await run({ url });
    expect(seenOf(findings, 'search')).toMatchObject([{ seen }]);
  });
});

test.for(ROUND)('%i rows without a count may be a part', count => {
  expect([isAll({ count, meta: undefined }), isAll({ count: count + 1, meta: undefined })]).toEqual([false, true]);
});

describe('--write', () => {
  const customers = (sandbox: Sandbox) => [...sandbox.rows('customers')];

  test('what is created is deleted again, and said', async () => {
    const { sandbox, run } = await openWith({});
    const before = customers(sandbox);
    const { ok, written, findings } = await run({ write: true });
    expect(customers(sandbox)).toEqual(before);
    expect(written.created).toHaveLength(2);
    expect([ok, written.left]).toEqual([true, []]);
    expect(seenOf(findings, 'writes')).toMatchObject([{ seen: 'done', handled: 'yes' }]);
  });

  test('what cannot be deleted is named', async () => {
    const { sandbox, run } = await openWith({});
    const before = customers(sandbox).length;
    const url = await openInBetween(sandbox, (answer, { method }) =>
      method === 'GET' || method === 'POST' ? answer : { status: 403, body: { success: false, message: 'Forbidden' } },
    );
    // The sandbox deletes, the answer says no: it is only believed when the customer is seen to be gone.
    const report = await run({ url, write: true });
    expect(report.ok).toBe(false);
    expect(report.written.left).toEqual(report.written.created);
    expect(report.written.left).toHaveLength(2);
    expect(showReport(report, url)).toContain(`NOT REMOVED: ${report.written.left[0]}. Delete it by hand`);
    expect(customers(sandbox)).toHaveLength(before);
  });

  test('what the key may not see is not taken for deleted', async () => {
    const { sandbox, run } = await openWith({ visible: 'none' });
    const before = customers(sandbox).length;
    const { written } = await run({ write: true });
    expect(customers(sandbox)).toHaveLength(before + 2);
    expect(written.left).toEqual(written.created);
    expect(written.left).toHaveLength(2);
    expect(methodsOf(sandbox)).not.toContain('DELETE');
  });

  test.for([
    ['a refusal', (status: number) => status >= 400],
    ['an answer to a create', (status: number) => status < 300],
  ] as const)('a customer of somebody else that %s names is neither changed nor deleted', async ([_what, names]) => {
    const { sandbox, run } = await openWith({});
    const before = customers(sandbox);
    const [other] = before;
    const url = await openInBetween(sandbox, (answer, { method, path }) =>
      method === 'POST' && path === '/api/v2/customers' && names(answer.status)
        ? { ...answer, body: { ...answer.body, data: { id: other?.id } } }
        : answer,
    );
    const report = await run({ url, write: true });
    expect(customers(sandbox)).toEqual(before);
    const touched = sandbox.stats.requests.filter(({ path }) => path === `/api/v2/customers/${other?.id}`);
    expect(touched.length).toBeGreaterThan(0);
    expect([...new Set(touched.map(({ method }) => method))]).toEqual(['GET']);
    expect(report.written).toMatchObject({
      left: [],
      notOurs: [
        expect.stringMatching(new RegExp(`^customer ${other?.id}, which is not named "conformance \\w+ \\.\\."$`)),
      ],
    });
    expect(report.ok).toBe(false);
    expect(showReport(report, url)).toContain(`NOT OURS: ${report.written.notOurs[0]}`);
  });

  describe('a create that is answered without an id', () => {
    const nameless = (answer: Passed) => ({ ...answer, body: { success: true, data: {} } });

    test('is found by its name and deleted', async () => {
      const { sandbox, run } = await openWith({});
      const before = customers(sandbox);
      const url = await openInBetween(sandbox, (answer, { method, path }) => {
        // So that no other part looks for it by the way.
        if (path.includes('batch')) return { status: 404, body: { success: false } };
        return method === 'POST' && path === '/api/v2/customers' && answer.status < 300 ? nameless(answer) : answer;
      });
      const { written, findings } = await run({ url, write: true });
      expect(customers(sandbox)).toEqual(before);
      expect([written.created.length, written.left]).toEqual([2, []]);
      expect(seenOf(findings, 'writes')).toMatchObject([{ handled: 'not: what is created cannot be told' }]);
    });

    test.for(['/api/v2/customers', '/api/v2/batch/customers'])(
      '%s, and not found: where to look is told',
      async created => {
        const { run, sandbox } = await openWith({});
        const url = await openInBetween(sandbox, (answer, { method, path, query }) => {
          if (query.has('search')) return { status: 200, body: { success: true, data: [] } };
          return method === 'POST' && path === created && answer.status < 300 ? nameless(answer) : answer;
        });
        const report = await run({ url, write: true });
        const perhaps = expect.stringMatching(/^perhaps a customer named "conformance \w{8} \.\."/);
        expect([report.written.left, report.ok]).toEqual([[perhaps], false]);
        expect(showReport(report, url)).toContain(`NOT REMOVED: ${report.written.left[0]}`);
      },
    );
  });

  test('what a batch created in spite of its HTTP 404 is deleted', async () => {
    const { sandbox, run } = await openWith({});
    const before = customers(sandbox);
    const url = await openInBetween(sandbox, (answer, { method, path }) =>
      method === 'POST' && path.includes('batch') ? { status: 404, body: { success: false } } : answer,
    );
    const { written } = await run({ url, write: true });
    expect(customers(sandbox)).toEqual(before);
    expect(written.created).toHaveLength(2);
  });

  describe('an error that nobody expected', () => {
    const broken = {
      now: () => Date.parse('2026-01-15T12:17:00Z'),
      sleep: () => Promise.reject(new TypeError('The clock broke.')),
    };
    const failing =
      (...methods: string[]) =>
      (answer: Passed, { method }: { method: string }) =>
        methods.includes(method) ? { status: 503, body: {} } : answer;

    test('does not keep what was created from being deleted', async () => {
      const { sandbox, run } = await openWith({});
      const before = customers(sandbox);
      const url = await openInBetween(sandbox, failing('PUT'));
      await expect(run({ url, write: true, clock: broken })).rejects.toThrow('The clock broke.');
      expect(customers(sandbox)).toEqual(before);
    });

    test('nor what is left from being told', async () => {
      const { sandbox, run } = await openWith({});
      const url = await openInBetween(sandbox, failing('PUT', 'DELETE'));
      await expect(run({ url, write: true, clock: broken })).rejects.toThrow(
        /^The clock broke\.\nNOT REMOVED: customer \d+ \(conformance \w{8}\)$/,
      );
    });
  });

  test('a create that was carried out, and whose answer was lost, is found and deleted', async () => {
    const { sandbox, run } = await openWith({});
    const before = customers(sandbox);
    const url = await openInBetween(sandbox, (answer, { method, path }) =>
      method === 'POST' && path === '/api/v2/customers' ? { status: 502, body: {} } : answer,
    );
    const { written, findings } = await run({ url, write: true });
    expect(customers(sandbox)).toEqual(before);
    expect(written.created).toHaveLength(2);
    expect(written.left).toEqual([expect.stringMatching(/^perhaps a customer named "conformance \w+ \.\."/)]);
    expect(seenOf(findings, 'writes')).toMatchObject([{ seen: null }]);
  });

  test('a key that may not write creates nothing', async () => {
    const { sandbox, run } = await openWith({});
    const url = await openInBetween(sandbox, (answer, { method }) =>
      method === 'POST' ? { status: 403, body: { success: false, message: 'Forbidden' } } : answer,
    );
    const { findings, stopped, ok, written } = await run({ url, write: true });
    const evidence = 'this key may not create customers: HTTP 403';
    expect(seenOf(findings, 'batch')).toMatchObject([{ seen: null, evidence }]);
    // What was asked for and could not be done is no success.
    expect([stopped, ok, written.left]).toEqual([evidence, false, []]);
  });

  test('is stopped after what was begun is undone', async () => {
    const { sandbox, run } = await openWith({});
    const before = customers(sandbox);
    const stopping = new AbortController();
    const url = await openInBetween(sandbox, (answer, { method }) => {
      if (method === 'PUT') stopping.abort();
      return answer;
    });
    const { stopped, ok, written } = await run({ url, write: true, signal: stopping.signal });
    expect([stopped, ok, written.left]).toEqual(['it was stopped on request', false, []]);
    expect(customers(sandbox)).toEqual(before);
    expect(written.created).toHaveLength(1);
    expect(sandbox.stats.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });
});

test('is stopped in the middle of the lists too', async () => {
  const { sandbox, run } = await openWith({});
  const stopping = new AbortController();
  const url = await openInBetween(sandbox, (answer, { path }) => {
    if (path === '/api/v2/invoices') stopping.abort();
    return answer;
  });
  const { stopped, ok, requests } = await run({ url, write: true, signal: stopping.signal });
  expect([stopped, ok]).toEqual(['it was stopped on request', false]);
  // Two of customers and two of invoices.
  expect([requests, methodsOf(sandbox)]).toEqual([4, ['GET']]);
});

describe('without an answer to build on', () => {
  test('a wrong key ends it at the first request', async () => {
    const { sandbox, run } = await openWith({});
    await expect(run({ apiKey: 'wrong' })).rejects.toMatchObject({ kind: 'unauthorized' });
    expect(sandbox.stats.total).toBe(1);
  });

  test('a wrong address too', async () => {
    const { sandbox, run } = await openWith({});
    await expect(run({ url: `${sandbox.url}/shop` })).rejects.toMatchObject({
      kind: 'unavailable',
      next: 'Check that the source is up, and that --url is its address before /api/v2.',
    });
    expect(sandbox.stats.total).toBe(1);
    await expect(run({ url: 'http://books.example.com' })).rejects.toMatchObject({ kind: 'configuration' });
  });
});

describe('the command', () => {
  const COMMAND = fileURLToPath(new URL('../conformance.ts', import.meta.url));
  const root = fileURLToPath(new URL('../../..', import.meta.url));
  const call = async (given: string[], key?: string) => {
    const { SOURCE_API_KEY: _, ...environment } = process.env;
    const env = { ...environment, ...(key === undefined ? {} : { SOURCE_API_KEY: key }) };
    const parts = ['--import', 'tsx', COMMAND, ...given];
    return promisify(execFile)(process.execPath, parts, { cwd: root, env }).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      (error: { code: number; stdout: string; stderr: string }) => error,
    );
  };

  test('one document with --json, the key from the environment, exit code 0', async () => {
    const sandbox = await openSandbox({ apiKey: 'a-key-to-be-hidden' });
    onTestFinished(() => sandbox.close());
    const { code, stdout, stderr } = await call(['--url', sandbox.url, '--auth', 'query', '--json'], sandbox.apiKey);
    expect(stderr).toBe('');
    expect(stdout).not.toContain('a-key-to-be-hidden');
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, origin: sandbox.url, requests: sandbox.stats.total });
    expect(code).toBe(0);
  });

  test('as it is documented, npm prints nothing of its own, and no key', async () => {
    const sandbox = await openSandbox({ apiKey: 'a-key-to-be-hidden' });
    onTestFinished(() => sandbox.close());
    const doc = await readFile(new URL('../../../docs/conformance.md', import.meta.url), 'utf8');
    const commands = doc.match(/npm run .*conformance.*(?= --url)/g) ?? [];
    expect(new Set(commands)).toEqual(new Set(['npm run --silent conformance --']));
    const { SOURCE_API_KEY: _, ...env } = process.env;
    const parts = [...(commands[0] ?? '').split(' ').slice(1), '--url', sandbox.url, '--key', sandbox.apiKey, '--json'];
    const { stdout, stderr } = await promisify(execFile)('npm', parts, { cwd: root, env });
    expect(JSON.parse(stdout)).toMatchObject({ ok: true });
    expect(stdout + stderr).not.toContain(sandbox.apiKey);
  });

  test('--key beside another key in the environment: neither is sent', async () => {
    const sandbox = await openSandbox({});
    onTestFinished(() => sandbox.close());
    const { code, stderr } = await call(['--url', sandbox.url, '--key', sandbox.apiKey], 'the-key-of-another');
    expect([code, stderr]).toEqual([2, expect.stringContaining('two different keys')]);
    expect(stderr).not.toContain('the-key-of-another');
    expect(sandbox.stats.total).toBe(0);
  });

  test.for([
    [['--key', 'k'], '--url is missing'],
    [['--url', 'books.example.com', '--key', 'k'], '--url books.example.com is no address such as https://'],
    [['--url', 'http://127.0.0.1:1'], 'There is no key'],
    [['--url', 'http://127.0.0.1:1', '--key', 'k', '--nonsense'], '--nonsense'],
  ] as const)('%s: exit code 2', async ([given, problem]) => {
    const { code, stderr } = await call([...given]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(problem)]);
  });
});
