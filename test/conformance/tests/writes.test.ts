import { describe, expect, test } from 'vitest';
import type { Sandbox } from '../../../sandbox/sandbox.ts';
import { formatReport } from '../format-report.ts';
import { findingsOf, methodsOf, openWith } from './open-probe.ts';
import { openProxy, type ProxiedAnswer } from './proxy.ts';

describe('--write', () => {
  const customers = (sandbox: Sandbox) => [...sandbox.rows('customers')];

  test('created customers are deleted and reported', async () => {
    const { sandbox, run } = await openWith({});
    const before = customers(sandbox);
    const { ok, written, findings } = await run({ write: true });
    expect(customers(sandbox)).toEqual(before);
    expect(written.created).toHaveLength(2);
    expect([ok, written.left]).toEqual([true, []]);
    expect(findingsOf(findings, 'writes')).toMatchObject([{ seen: 'done', handled: 'yes' }]);
  });

  test('a customer that cannot be deleted is reported', async () => {
    const { sandbox, run } = await openWith({});
    const before = customers(sandbox).length;
    const url = await openProxy(sandbox, (answer, { method }) =>
      method === 'GET' || method === 'POST' ? answer : { status: 403, body: { success: false, message: 'Forbidden' } },
    );
    // The sandbox deletes, but the answer is an error: only reading the customer confirms the deletion.
    const report = await run({ url, write: true });
    expect(report.ok).toBe(false);
    expect(report.written.left).toEqual(report.written.created);
    expect(report.written.left).toHaveLength(2);
    expect(formatReport(report, url)).toContain(`NOT REMOVED: ${report.written.left[0]}. Check its name`);
    expect(customers(sandbox)).toHaveLength(before);
  });

  test('a customer hidden from the key does not count as deleted', async () => {
    const { sandbox, run } = await openWith({ visible: 'none' });
    const before = customers(sandbox).length;
    const { written } = await run({ write: true });
    expect(customers(sandbox)).toHaveLength(before + 2);
    expect(written.left).toEqual(written.created);
    expect(written.left).toHaveLength(2);
    expect(methodsOf(sandbox)).not.toContain('DELETE');
  });

  test.for([
    ['an error', (status: number) => status >= 400],
    ['an answer to a create', (status: number) => status < 300],
  ] as const)('a foreign customer whose id is in %s is neither changed nor deleted', async ([_what, names]) => {
    const { sandbox, run } = await openWith({});
    const before = customers(sandbox);
    const [other] = before;
    const url = await openProxy(sandbox, (answer, { method, path }) =>
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
        expect.stringMatching(new RegExp(`^customer ${other?.id}, whose name does not start with "conformance \\w+"$`)),
      ],
    });
    expect(report.ok).toBe(false);
    expect(formatReport(report, url)).toContain(`NOT OURS: ${report.written.notOurs[0]}`);
  });

  describe('a create answered without an id', () => {
    const nameless = (answer: ProxiedAnswer) => ({ ...answer, body: { success: true, data: {} } });

    test('is found by its name and deleted', async () => {
      const { sandbox, run } = await openWith({});
      const before = customers(sandbox);
      const url = await openProxy(sandbox, (answer, { method, path }) => {
        // Otherwise the search of the batch check would find it.
        if (path.includes('batch')) return { status: 404, body: { success: false } };
        return method === 'POST' && path === '/api/v2/customers' && answer.status < 300 ? nameless(answer) : answer;
      });
      const { written, findings } = await run({ url, write: true });
      expect(customers(sandbox)).toEqual(before);
      expect([written.created.length, written.left]).toEqual([2, []]);
      expect(findingsOf(findings, 'writes')).toMatchObject([{ handled: 'not: a created row cannot be identified' }]);
    });

    test.for(['/api/v2/customers', '/api/v2/batch/customers'])(
      '%s: if it is not found, the report says where to look',
      async created => {
        const { run, sandbox } = await openWith({});
        const url = await openProxy(sandbox, (answer, { method, path, query }) => {
          if (query.has('search')) return { status: 200, body: { success: true, data: [] } };
          return method === 'POST' && path === created && answer.status < 300 ? nameless(answer) : answer;
        });
        const report = await run({ url, write: true });
        const perhaps = expect.stringMatching(/^perhaps a customer named "conformance \w{8} \.\."/);
        expect([report.written.left, report.ok]).toEqual([[perhaps], false]);
        expect(formatReport(report, url)).toContain(`NOT REMOVED: ${report.written.left[0]}`);
      },
    );
  });

  test('a customer created by a batch that answered HTTP 404 is deleted', async () => {
    const { sandbox, run } = await openWith({});
    const before = customers(sandbox);
    const url = await openProxy(sandbox, (answer, { method, path }) =>
      method === 'POST' && path.includes('batch') ? { status: 404, body: { success: false } } : answer,
    );
    const { written } = await run({ url, write: true });
    expect(customers(sandbox)).toEqual(before);
    expect(written.created).toHaveLength(2);
  });

  describe('after an unexpected error', () => {
    const broken = {
      now: () => Date.parse('2026-01-15T12:17:00Z'),
      elapsed: () => 0,
      sleep: () => Promise.reject(new TypeError('The clock broke.')),
    };
    const failing =
      (...methods: string[]) =>
      (answer: ProxiedAnswer, { method }: { method: string }) =>
        methods.includes(method) ? { status: 503, body: {} } : answer;

    test('created customers are deleted', async () => {
      const { sandbox, run } = await openWith({});
      const before = customers(sandbox);
      const url = await openProxy(sandbox, failing('PUT'));
      await expect(run({ url, write: true, clock: broken })).rejects.toThrow('The clock broke.');
      expect(customers(sandbox)).toEqual(before);
    });

    test('customers that could not be deleted are reported', async () => {
      const { sandbox, run } = await openWith({});
      const url = await openProxy(sandbox, failing('PUT', 'DELETE'));
      await expect(run({ url, write: true, clock: broken })).rejects.toThrow(
        /^The clock broke\.\nNOT REMOVED: customer \d+ \(conformance \w{8}\)$/,
      );
    });
  });

  test('a create whose answer was lost is found and deleted', async () => {
    const { sandbox, run } = await openWith({});
    const before = customers(sandbox);
    const url = await openProxy(sandbox, (answer, { method, path }) =>
      method === 'POST' && path === '/api/v2/customers' ? { status: 502, body: {} } : answer,
    );
    const { written, findings } = await run({ url, write: true });
    expect(customers(sandbox)).toEqual(before);
    expect(written.created).toHaveLength(2);
    expect(written.left).toEqual([expect.stringMatching(/^perhaps a customer named "conformance \w+ \.\."/)]);
    expect(findingsOf(findings, 'writes')).toMatchObject([{ seen: null }]);
  });

  describe('answers that lag behind', () => {
    test.for([
      ['replica', '404', 'partial', 2],
      ['replica', 'null', 'all', 1],
      ['replica', 'marked', 'partial', 2],
      ['cache', '404', 'all', 1],
      ['cache', 'null', 'partial', 2],
      ['cache', 'marked', 'partial', 2],
    ] as const)(
      'stale=%s, deleted-customer=%s, batch=%s: all customers are deleted, and the other points are right',
      async ([stale, deleted, batch, created]) => {
        const { sandbox, run } = await openWith({ stale, 'deleted-customer': deleted, batch, validation: '422' });
        const before = customers(sandbox);
        const { findings, written, ok } = await run({ write: true });
        expect(customers(sandbox)).toEqual(before);
        expect([written.created.length, written.left, written.notOurs, ok]).toEqual([created, [], [], true]);
        const seen = ['writes', 'stale', 'validation', 'batch', 'deleted-customer'].map(
          point => findingsOf(findings, point)[0]?.seen,
        );
        expect(seen).toEqual(['done', stale, '422', batch, deleted]);
      },
    );

    const isOne = (path: string) => /^\/api\/v2\/customers\/\d+$/.test(path);
    const withCity = (answer: ProxiedAnswer) =>
      answer.status === 200
        ? { ...answer, body: { ...answer.body, data: { ...answer.body.data, city: 'Before' } } }
        : answer;
    /** The number of reads between the change and the next create. */
    const readsOfChange = ({ stats }: Sandbox) => {
      const methods = stats.requests.map(({ method }) => method);
      return methods.indexOf('POST', methods.indexOf('PUT')) - methods.indexOf('PUT') - 1;
    };

    test('a change that is never shown is reported with the setting to raise, after four reads', async () => {
      const { sandbox, run } = await openWith({});
      const before = customers(sandbox);
      const url = await openProxy(sandbox, (answer, { method, path }) =>
        method === 'GET' && isOne(path) ? withCity(answer) : answer,
      );
      const { findings, ok, written } = await run({ url, write: true });
      expect(findingsOf(findings, 'stale')).toMatchObject([
        { seen: 'unknown', handled: expect.stringContaining('SOURCE_LAG_SECONDS') },
      ]);
      expect([ok, written.left, readsOfChange(sandbox)]).toEqual([false, [], 4]);
      expect(customers(sandbox)).toEqual(before);
    });

    test('a refused change does not show whether answers lag', async () => {
      const { sandbox, run } = await openWith({});
      const url = await openProxy(sandbox, (answer, { method, path }) => {
        if (method === 'PUT') return { status: 403, body: { success: false, message: 'Forbidden' } };
        return method === 'GET' && isOne(path) ? withCity(answer) : answer;
      });
      const { findings } = await run({ url, write: true });
      expect(findingsOf(findings, 'stale')).toMatchObject([{ seen: null, handled: null }]);
      expect(readsOfChange(sandbox)).toBe(1);
    });

    test('a failing read does not show whether answers lag', async () => {
      const { sandbox, run } = await openWith({});
      let isChanged = false;
      const url = await openProxy(sandbox, (answer, { method, path }) => {
        isChanged ||= method === 'PUT';
        return isChanged && method === 'GET' && isOne(path) ? { status: 503, body: {} } : answer;
      });
      const { findings } = await run({ url, write: true });
      expect(findingsOf(findings, 'stale')).toMatchObject([{ seen: null, handled: null }]);
      // Failed requests are repeated twice.
      expect(readsOfChange(sandbox)).toBe(3);
    });
  });

  test('a key that may not write creates nothing', async () => {
    const { sandbox, run } = await openWith({});
    const url = await openProxy(sandbox, (answer, { method }) =>
      method === 'POST' ? { status: 403, body: { success: false, message: 'Forbidden' } } : answer,
    );
    const { findings, stopped, ok, written } = await run({ url, write: true });
    const evidence = 'this key may not create customers: HTTP 403';
    expect(findingsOf(findings, 'batch')).toMatchObject([{ seen: null, evidence }]);
    // Checks that were requested but could not run are not a success.
    expect([stopped, ok, written.left]).toEqual([evidence, false, []]);
  });

  test('stops after cleanup', async () => {
    const { sandbox, run } = await openWith({});
    const before = customers(sandbox);
    const stopping = new AbortController();
    const url = await openProxy(sandbox, (answer, { method }) => {
      if (method === 'PUT') stopping.abort();
      return answer;
    });
    const { stopped, ok, written } = await run({ url, write: true, signal: stopping.signal });
    expect([stopped, ok, written.left]).toEqual(['stopped on request', false, []]);
    expect(customers(sandbox)).toEqual(before);
    expect(written.created).toHaveLength(1);
    expect(sandbox.stats.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });
});

test('stops between two lists', async () => {
  const { sandbox, run } = await openWith({});
  const stopping = new AbortController();
  const url = await openProxy(sandbox, (answer, { path }) => {
    if (path === '/api/v2/invoices') stopping.abort();
    return answer;
  });
  const { stopped, ok, requests } = await run({ url, write: true, signal: stopping.signal });
  expect([stopped, ok]).toEqual(['stopped on request', false]);
  // Two requests for customers and two for invoices.
  expect([requests, methodsOf(sandbox)]).toEqual([4, ['GET']]);
});

describe('a run that cannot start', () => {
  test('an invalid key ends it at the first request', async () => {
    const { sandbox, run } = await openWith({});
    await expect(run({ apiKey: 'wrong' })).rejects.toMatchObject({ kind: 'unauthorized' });
    expect(sandbox.stats.total).toBe(1);
  });

  test('so does an invalid address', async () => {
    const { sandbox, run } = await openWith({});
    await expect(run({ url: `${sandbox.url}/shop` })).rejects.toMatchObject({
      kind: 'unavailable',
      next: 'Check that the source is up, and that --url is its address before /api/v2.',
    });
    expect(sandbox.stats.total).toBe(1);
    await expect(run({ url: 'http://books.example.com' })).rejects.toMatchObject({ kind: 'configuration' });
  });
});
