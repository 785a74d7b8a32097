import { describe, expect, test } from 'vitest';
import { some } from '../../support/long.ts';
import { isComplete } from '../checks/dates/check-dates.ts';
import type { Finding } from '../findings/finding.ts';
import { LIST_NAMES, SUSPICIOUS_COUNTS } from '../lists/documented-lists.ts';
import { MAX_REQUESTS } from '../requests/requester.ts';
import { findingsOf, openWith } from './open-probe.ts';
import { openProxy, type ProxiedAnswer } from './proxy.ts';

describe('behaviour that is no known variant', () => {
  const cases: Record<
    string,
    [string, Partial<Finding>, (answer: ProxiedAnswer, path: string, query: URLSearchParams) => ProxiedAnswer]
  > = {
    'invalid timestamps': [
      'timestamps',
      { handled: 'not: Sluice cannot parse such a timestamp, and its row goes to quarantine' },
      (answer, path) => eachRow(answer, path, 'customers', row => ({ ...row, created_at: '15.01.2026 10:00' })),
    ],
    'pages that are counted but always page 1': [
      'paging',
      { lists: ['invoices'], handled: 'not: rows beyond page 1 cannot be read' },
      (answer, path, query) => {
        if (path === '/api/v2/invoices' && query.get('page') === '2') answer.body.data = firstInvoices;
        else if (path === '/api/v2/invoices') firstInvoices = answer.body.data.slice(0, 5);
        return answer;
      },
    ],
    'customers without ids': [
      'customer-fields',
      { handled: 'not: rows of this list are stored by their id' },
      (answer, path) => eachRow(answer, path, 'customers', row => ({ ...row, id: undefined })),
    ],
    'a customer for an id that does not exist': [
      'no-record',
      { handled: 'not: a deleted customer cannot be told from others by reading it' },
      (answer, path) =>
        answer.status === 404 && /customers\/\d+$/.test(path)
          ? { status: 200, body: { success: true, data: { id: 1, account: 'Deleted' } } }
          : answer,
    ],
    'status 200 with an empty list for a customer that does not exist': [
      'no-record',
      { handled: 'yes' },
      (answer, path) =>
        answer.status === 404 && /customers\/\d+$/.test(path)
          ? { status: 200, body: { success: true, data: [] } }
          : answer,
    ],
    'two lists that the key may not read': [
      'forbidden',
      { handled: 'yes', evidence: 'quotes, users: HTTP 403 "Forbidden"' },
      (answer, path) =>
        /\/(?:quotes|users)$/.test(path) ? { status: 403, body: { success: false, message: 'Forbidden' } } : answer,
    ],
    'ids on half of the transactions': [
      'transaction-ids',
      { handled: 'not: some rows have an id and others do not' },
      (answer, path) =>
        eachRow(answer, path, 'transactions', ({ id, ...row }) => (Number(id) % 2 === 0 ? { id, ...row } : row)),
    ],
    'one list ordered differently from the others': [
      'order',
      { lists: ['invoices'], seen: 'id-asc', handled: 'yes' },
      (answer, path) => {
        if (path === '/api/v2/invoices' && Array.isArray(answer.body.data)) answer.body.data.reverse();
        return answer;
      },
    ],
    'items that are not objects': [
      'values',
      { handled: 'not: their rows go to quarantine' },
      (answer, path) => eachRow(answer, path, 'invoices', row => ({ ...row, items: [null] })),
    ],
    'a documented list that always fails': [
      'no-list',
      { lists: ['tickets'], handled: 'not: every read of such a list fails' },
      (answer, path) => (path === '/api/v2/tickets' ? { status: 500, body: { success: false } } : answer),
    ],
    'an invalid key that is accepted': [
      'auth-error',
      { handled: 'not: the source accepts any key' },
      answer => (answer.status === 401 ? { status: 200, body: { success: true, data: [] } } : answer),
    ],
  };
  let firstInvoices: unknown[] = [];

  test.for(some(Object.entries(cases), 6))('%s', async ([_name, [point, expected, change]]) => {
    const { sandbox, run } = await openWith({});
    const url = await openProxy(sandbox, (answer, { path, query }) => change(answer, path, query));
    const { ok, findings } = await run({ url });
    const found = findingsOf(findings, point).filter(({ seen }) => seen === 'unknown' || point === 'order');
    expect(found).toEqual(expect.arrayContaining([expect.objectContaining(expected)]));
    expect(found[0]?.evidence).not.toBe('');
    expect(ok).toBe(expected.handled === 'yes');
  });

  function eachRow(
    answer: ProxiedAnswer,
    path: string,
    list: string,
    change: (row: Record<string, unknown>) => object,
  ): ProxiedAnswer {
    if (path === `/api/v2/${list}` && Array.isArray(answer.body.data)) answer.body.data = answer.body.data.map(change);
    return answer;
  }
});

describe('limits that a list rejects', () => {
  test.for(['customers', 'invoices'])('%s: a rejected limit is lowered and reported', async list => {
    const { sandbox, run } = await openWith({});
    const url = await openProxy(sandbox, (answer, { path, query }) =>
      path === `/api/v2/${list}` && Number(query.get('limit')) > 100
        ? { status: 400, body: { success: false, message: 'The limit is too large' } }
        : answer,
    );
    const { ok, findings, requests } = await run({ url });
    expect(findingsOf(findings, 'no-list')).toEqual([]);
    expect(findingsOf(findings, 'limit-max')).toContainEqual(
      list === 'customers'
        ? expect.objectContaining({ seen: '100-reject', handled: 'yes' })
        : expect.objectContaining({ lists: [list], handled: 'yes', evidence: REJECTED }),
    );
    expect(ok).toBe(true);
    expect(requests).toBeLessThanOrEqual(MAX_REQUESTS);
  });
  const REJECTED = 'limit=1000 is rejected with HTTP 400, 100 is accepted';

  test.for(some(['customers', 'invoices'], 1))('%s: a limit that times out is lowered and reported', async list => {
    const { sandbox, run } = await openWith({});
    const url = await openProxy(sandbox, (answer, { path, query }) =>
      path === `/api/v2/${list}` && Number(query.get('limit')) > 500 ? 'no answer' : answer,
    );
    const { ok, findings } = await run({ url, timeoutMs: 700 });
    expect(findingsOf(findings, 'no-list')).toEqual([]);
    expect(findingsOf(findings, 'limit-max')).toContainEqual(
      expect.objectContaining({ handled: 'yes', evidence: 'limit=1000 timed out, 100 is accepted' }),
    );
    expect(ok).toBe(true);
  });

  test('lists that reject every limit are reported within the requests of one run', async () => {
    const { sandbox, run } = await openWith({});
    const url = await openProxy(sandbox, (answer, { path }) =>
      path !== '/api/v2/customers' && path.split('/').length === 4
        ? { status: 400, body: { success: false, message: 'No' } }
        : answer,
    );
    const { findings, stopped, requests } = await run({ url });
    expect(findingsOf(findings, 'no-list').map(({ lists }) => lists?.[0])).toEqual(LIST_NAMES.slice(1, 7));
    expect(stopped).toBeNull();
    expect(requests).toBeLessThanOrEqual(MAX_REQUESTS);
  });
});

test('a byte order mark before the JSON has no effect', async () => {
  const { sandbox, run } = await openWith({});
  const plain = await run();
  const url = await openProxy(sandbox, answer => ({ ...answer, text: `\ufeff${JSON.stringify(answer.body)}` }));
  const { findings, ok } = await run({ url });
  const observed = (some: readonly Finding[]) => some.map(({ point, seen }) => `${point} ${seen}`);
  // The rate headers depend on earlier requests.
  const steady = (text: string) => !text.startsWith('rate-');
  expect(observed(findings).filter(steady)).toEqual(observed(plain.findings).filter(steady));
  expect(ok).toBe(true);
});

test.for([
  ['text', 'customers'],
  [[1], 'invoices'],
] as const)('a list entry %j that is not an object is reported', async ([entry, list]) => {
  const { sandbox, run } = await openWith({});
  const url = await openProxy(sandbox, (answer, { path }) =>
    path === `/api/v2/${list}` && Array.isArray(answer.body.data)
      ? { ...answer, body: { ...answer.body, data: [entry, ...answer.body.data.slice(1)] } }
      : answer,
  );
  const { findings, ok } = await run({ url });
  expect(findingsOf(findings, 'values')).toMatchObject([
    { evidence: `1 entry is not an object, e.g. in ${list}`, handled: 'not: their rows go to quarantine' },
  ]);
  expect(findingsOf(findings, 'fault')).toMatchObject([{ seen: 'none' }]);
  expect(ok).toBe(false);
});

test('a row of one list that is null is reported and handled', async () => {
  const { sandbox, run } = await openWith({});
  const url = await openProxy(sandbox, (answer, { path, query }) => {
    if (path === '/api/v2/invoices' && [...query.keys()].length === 2) answer.body.data[3] = null;
    return answer;
  });
  const { findings, ok } = await run({ url });
  expect(findingsOf(findings, 'null-rows')).toMatchObject([{ seen: 'yes', evidence: '1 row, in invoices' }]);
  expect(findingsOf(findings, 'values')).toEqual([]);
  expect(ok).toBe(true);
});

test('ids beyond 64 bits are reported with what becomes of their rows', async () => {
  const { run } = await openWith({ ids: 'edge' });
  const { findings, ok } = await run();
  expect(findingsOf(findings, 'ids')).toMatchObject([{ seen: 'edge', handled: 'yes' }]);
  expect(findingsOf(findings, 'values')).toMatchObject([{ handled: expect.stringContaining('quarantine') as string }]);
  expect(ok).toBe(false);
});

describe('ignored parameters are not mistaken for honoured ones', () => {
  test('a filter, if the first rows have the same value', async () => {
    const { sandbox, run } = await openWith({ filters: 'ignored' });
    const url = await openProxy(sandbox, (answer, { path }) => {
      const alike = (row: object, at: number) => ({ ...row, status: at > 20 && at % 3 === 0 ? 'Unpaid' : 'Paid' });
      if (path === '/api/v2/invoices') answer.body.data = answer.body.data.map(alike);
      return answer;
    });
    const { findings } = await run({ url });
    expect(findingsOf(findings, 'filters')).toMatchObject([{ seen: 'ignored' }]);
  });

  test.for([
    [3, 'honoured'],
    [3, 'ignored'],
    [12, 'honoured'],
    [12, 'ignored'],
  ] as const)('a search in %i customers: %s', async ([count, seen]) => {
    const { sandbox, run } = await openWith({}, { size: { customers: count, invoices: 1, transactions: 1 } });
    let whole: unknown;
    const url = await openProxy(sandbox, (answer, { path, query }) => {
      if (path !== '/api/v2/customers') return answer;
      whole ??= answer.body;
      return query.has('search') && seen === 'ignored' ? { ...answer, body: whole } : answer;
    });
    const { findings } = await run({ url });
    expect(findingsOf(findings, 'search')).toMatchObject([{ seen }]);
  });
});

test.for(SUSPICIOUS_COUNTS)('%i rows without a count may be incomplete', count => {
  expect([isComplete({ count, meta: undefined }), isComplete({ count: count + 1, meta: undefined })]).toEqual([
    false,
    true,
  ]);
});
