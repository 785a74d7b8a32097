import { getEventListeners, once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Lane } from '../../src/budget/budget.ts';
import { createMemoryBudget } from '../../src/budget/memory-budget.ts';
import { MINUTE, SECOND } from '../../src/clock.ts';
import { SluiceError } from '../../src/errors.ts';
import { type ClientOptions, isTimeout, openClient } from '../../src/source/client.ts';
import { countingBudget } from '../budget/counting-budget.ts';
import { autoClock, manualClock } from '../support/manual-clock.ts';
import { openDeafServer } from './deaf-server.ts';
import { failure } from './failure.ts';
import { type Handler, json, openPeer } from './peer.ts';

const apiKey = 'sk_live_51H+8a/secret=';
const context = { lane: 'live', purpose: 'test' } as const;
const path = '/api/v2/customers';
const rows = { success: true, data: [{ id: 1 }], meta: { current_page: 1, total_pages: '9', total_records: 170 } };

async function setUp(handler: Handler, more: Partial<ClientOptions> = {}) {
  const peer = await openPeer(handler);
  const budget = countingBudget();
  const clock = autoClock();
  const client = openClient({
    url: peer.url,
    apiKey,
    auth: 'bearer',
    budget,
    concurrency: 2,
    timeoutMs: 5000,
    clock,
    random: () => 1,
    ...more,
  });
  onTestFinished(() => client.close());
  const list = (extra: { signal?: AbortSignal; lane?: Lane; attempts?: number } = {}) =>
    client.list(path, {}, { page: 1, limit: 1000 }, { ...context, ...extra });
  return { peer, budget, clock, client, list };
}

describe('answers', () => {
  it('a page has rows, meta, the time of its grant and the requests it took', async () => {
    const { list, budget, peer } = await setUp(response =>
      json(response, rows, 200, { 'x-ratelimit-limit': '1000', 'x-ratelimit-remaining': '987' }),
    );
    expect(await list()).toEqual({
      kind: 'rows',
      rows: [{ id: 1 }],
      meta: { currentPage: 1, totalPages: 9, totalRecords: 170 },
      grantedAt: 'at 1',
      requests: 1,
      bytes: JSON.stringify(rows).length,
    });
    expect(peer.seen[0]).toMatchObject({
      method: 'GET',
      url: `${path}?page=1&limit=1000`,
      headers: { authorization: `Bearer ${apiKey}` },
    });
    expect(budget.settled.map(({ settlement }) => settlement)).toEqual([
      { purpose: 'test', status: 200, limit: 1000, remaining: 987 },
    ]);
  });

  it('an unreadable meta is left out', async () => {
    const { list } = await setUp(response =>
      json(response, { data: [], meta: { current_page: 'first', total_pages: -1 } }),
    );
    expect(await list()).not.toHaveProperty('meta');
  });

  it('with `auth: query` the key is sent in the query', async () => {
    const { list, peer } = await setUp(response => json(response, rows), { auth: 'query' });
    await list();
    const { url, headers } = peer.seen[0] ?? { url: '', headers: {} };
    expect(url).toMatch(/^\/\?api_key=[^&]+&ng=api\/v2\/customers&page=1&limit=1000$/);
    expect(new URLSearchParams(url.slice(2)).get('api_key')).toBe(apiKey);
    expect(headers).not.toHaveProperty('authorization');
  });

  it('a record keeps every digit', async () => {
    const { client } = await setUp(response =>
      json(response, '{"success": true, "data": {"id": 9007199254740993, "amount": 10.10}}'),
    );
    expect(await client.get('/api/v2/customers/7', context)).toMatchObject({
      kind: 'one',
      record: { id: '9007199254740993', amount: 10.1 },
    });
  });

  it('a report is requested by its query', async () => {
    const { client, peer } = await setUp(response => json(response, { data: { income: 1 } }));
    await client.get('/api/v2/reports/financial', context, { year: '2026', month: '1' });
    expect(peer.seen[0]?.url).toBe('/api/v2/reports/financial?year=2026&month=1');
  });

  it('a body is sent as JSON', async () => {
    const { client, peer } = await setUp(response => json(response, { success: true }, 201));
    const body = { url: 'https://example.com/hook', events: ['invoice.created'] };
    expect(await client.request({ method: 'POST', path: '/api/v2/webhooks', body }, context)).toMatchObject({
      kind: 'success',
    });
    expect(peer.seen[0]).toMatchObject({
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  });

  it.each([204, 205])('%i is a success for a change, and a failure for a read', async status => {
    const { client, list, peer } = await setUp(response => response.writeHead(status).end());
    for (const method of ['POST', 'PUT', 'DELETE'] as const)
      expect(await client.request({ method, path: `${path}/1` }, context)).toMatchObject({ kind: 'success', body: {} });
    expect(peer.seen).toHaveLength(3);
    expect(await failure(list())).toMatchObject({ kind: 'unavailable', status });
    // An empty body proves nothing if the source answers with one elsewhere.
    const empty = await setUp(response => json(response, ''));
    const error = await failure(empty.client.request({ method: 'DELETE', path: `${path}/1` }, context));
    expect(error).toMatchObject({ kind: 'unavailable', outcomeUnknown: true });
  });

  it('404 is `gone`, for lists and records', async () => {
    const { client, list, clock } = await setUp(response => json(response, '<h1>Not found</h1>', 404));
    expect(await list()).toEqual({ kind: 'gone', grantedAt: 'at 1', requests: 1 });
    expect(await client.get('/api/v2/customers/7', context)).toEqual({ kind: 'gone', grantedAt: 'at 2', requests: 1 });
    expect(clock.slept).toEqual([]);
  });

  it('gzip is decoded, and the requests in flight never exceed the concurrency', async () => {
    const { client, peer } = await setUp(response => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
      setImmediate(() => response.end(gzipSync(JSON.stringify(rows))));
    });
    const pages = Array.from({ length: 8 }, (_, page) => client.list(path, {}, { page }, context));
    expect((await Promise.all(pages)).every(({ kind }) => kind === 'rows')).toBe(true);
    expect(peer.mostAtOnce()).toBeLessThanOrEqual(2);
  });
});

describe('retried, each time with a grant of its own', () => {
  const glitches: [string, Handler][] = [
    ['500 with HTML', response => json(response, '<h1>Error</h1>', 500)],
    ['502', response => json(response, '', 502)],
    ['408', response => json(response, '', 408)],
    ['200 with HTML', response => json(response, '<h1>Maintenance</h1>')],
    ['200 with nothing', response => json(response, '')],
    ['200 with cut-off JSON', response => json(response, '{"success": true, "data": [{"id": 1')],
    ['200 with success: false', response => json(response, { success: false, message: 'busy' })],
    ['200 with data of another type', response => json(response, { success: true, data: { id: 1 } })],
    ['a connection reset before the answer', (_response, _nth, request) => request.socket.resetAndDestroy()],
    [
      'a connection closed in the middle of the body',
      (response, _nth, request) => {
        response.writeHead(200, { 'content-length': '5000' });
        response.write('{"success": true, "data": [', () => request.socket.destroy());
      },
    ],
    [
      'gzip that breaks off',
      response => {
        response.writeHead(200, { 'content-encoding': 'gzip' });
        response.end(gzipSync(JSON.stringify(rows)).subarray(0, 30));
      },
    ],
    [
      'an encoding that was not requested',
      response => {
        response.writeHead(200, { 'content-encoding': 'zstd' });
        response.end('x');
      },
    ],
  ];
  it.each(glitches)('%s', async (_name, glitch) => {
    const { list, budget, clock } = await setUp((response, nth, request) =>
      nth === 1 ? glitch(response, nth, request) : json(response, rows),
    );
    expect(await list()).toMatchObject({ kind: 'rows', grantedAt: 'at 2', requests: 2 });
    expect(clock.slept).toEqual([SECOND]);
    expect([budget.open(), budget.settled.length, budget.released.length]).toEqual([0, 2, 0]);
  });

  it.each([
    ['before the headers', () => {}],
    [
      'in the middle of the body',
      response => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.write('{"success": true, "data": [');
      },
    ],
    [
      'on a trickle that never ends',
      response => {
        const trickle = setInterval(() => response.write(' '), 20);
        response.on('close', () => clearInterval(trickle));
      },
    ],
  ] as [string, Handler][])('a server that hangs %s, after the time-out', async (_where, hang) => {
    const { list, budget } = await setUp(
      (response, nth, request) => (nth === 1 ? hang(response, nth, request) : json(response, rows)),
      {
        timeoutMs: 1000,
      },
    );
    expect(await list()).toMatchObject({ kind: 'rows', requests: 2 });
    expect(budget.settled.map(({ settlement }) => settlement.status)).toEqual([null, 200]);
  });

  it('an error status whose body hangs, as the error of its status', async () => {
    const { list, budget } = await setUp(
      (response, nth) => {
        if (nth > 1) return json(response, rows);
        response.writeHead(503);
        response.write('<h1>');
      },
      { timeoutMs: 1000 },
    );
    await list();
    expect(budget.settled.map(({ settlement }) => settlement.status)).toEqual([503, 200]);
  });

  it('six times in all, with growing waits, never shorter than the server asks', async () => {
    const { list, clock, budget } = await setUp((response, nth) =>
      json(response, '<h1>Down</h1>', 503, nth === 2 ? { 'retry-after': '90' } : {}),
    );
    expect(await failure(list())).toMatchObject({
      kind: 'unavailable',
      status: 503,
      message: `GET ${path}?page=1&limit=1000 failed 6 times: HTTP 503 with an HTML page`,
      next: expect.stringContaining('SOURCE_URL'),
    });
    expect(clock.slept).toEqual([1, 90, 4, 8, 16].map(seconds => seconds * SECOND));
    expect([budget.open(), budget.settled.length]).toEqual([0, 6]);
  });

  it('fewer times if the caller says so; a time-out is distinguished from other failures', async () => {
    const { list, peer } = await setUp(() => {}, { timeoutMs: 50 });
    const error = await failure(list({ attempts: 2 }));
    expect(error.message).toContain(`failed 2 times: no complete answer from ${peer.url} within 0.05 s`);
    expect([isTimeout(error), isTimeout(new Error('x'))]).toEqual([true, false]);
  });

  it('but never a POST that may have arrived', async () => {
    const { client, peer } = await setUp(response => json(response, '', 500));
    const error = await failure(client.request({ method: 'POST', path: '/api/v2/customers', body: {} }, context));
    expect(error).toMatchObject({
      kind: 'unavailable',
      outcomeUnknown: true,
      next: expect.stringContaining('may have been carried out'),
    });
    expect(peer.seen).toHaveLength(1);
  });

  it.each(['GET', 'PUT', 'DELETE'] as const)(
    '%s, and the error says whether the change may have been carried out',
    async method => {
      const { client, peer } = await setUp((response, nth) => json(response, '', nth === 6 ? 429 : 500));
      const error = await failure(client.request({ method, path: `${path}/1` }, context));
      expect(error).toMatchObject({ kind: 'unavailable', outcomeUnknown: method !== 'GET' });
      expect(peer.seen).toHaveLength(7);
    },
  );

  describe.each(['GET', 'PUT'] as const)(
    'after a first attempt that may have been carried out, a %s has `outcomeUnknown` if it is a change, when',
    method => {
      const look = (error: SluiceError) => [error.kind, error.outcomeUnknown, error.next?.includes('may have been')];
      const [told, asked] = [method === 'PUT', { method, path: `${path}/1` }];

      it.each([
        [401, 'unauthorized'],
        [409, 'refused'],
      ] as const)('it is answered with %i', async (status, kind) => {
        const { client } = await setUp((response, nth) => json(response, '', nth === 1 ? 500 : status));
        const error = await failure(client.request(asked, context));
        expect([...look(error), error.status]).toEqual([kind, told, told, status]);
      });

      it('it is stopped before the next attempt', async () => {
        const stop = new AbortController();
        const clock = manualClock();
        const { client } = await setUp(response => json(response, '', 500), { clock });
        const asking = failure(client.request(asked, { ...context, signal: stop.signal }));
        await clock.sleepers();
        stop.abort();
        expect(look(await asking)).toEqual(['stopped', told, told || undefined]);
      });

      it('the limit is used up', async () => {
        const clock = autoClock();
        const budget = createMemoryBudget({ clock, limit: 1 });
        const { client } = await setUp(response => json(response, '', 500), { clock, budget, noWait: true });
        expect(look(await failure(client.request(asked, context)))).toEqual(['quota', told, told]);
      });
    },
  );

  it.each(['GET', 'POST'] as const)(
    'a %s that is stopped in flight has `outcomeUnknown` if it is a change',
    async method => {
      const stop = new AbortController();
      const { client } = await setUp(() => stop.abort());
      const error = await failure(client.request({ method, path }, { ...context, signal: stop.signal }));
      expect(error).toMatchObject({ kind: 'stopped', outcomeUnknown: method === 'POST' });
    },
  );

  it('a POST without a connection is repeated until it arrives', async () => {
    const { client, clock } = await setUp(() => {}, { url: `http://127.0.0.1:${await closedPort()}` });
    const error = await failure(client.request({ method: 'POST', path, body: {} }, context));
    expect(error).toMatchObject({ kind: 'unavailable', outcomeUnknown: false });
    expect(clock.slept).toHaveLength(5);
  });
});

describe('429', () => {
  it('blocks every request of the key for as long as the server asks, and continues after that', async () => {
    const clock = manualClock();
    const budget = countingBudget(createMemoryBudget({ clock, limit: 10 }));
    const waits: number[] = [];
    const { list } = await setUp(
      (response, nth) =>
        nth === 1 ? json(response, '<h1>Slow down</h1>', 429, { 'retry-after': '45' }) : json(response, rows),
      { clock, budget, onWait: (_lane, ms) => waits.push(ms) },
    );
    const answer = list();
    expect(await clock.sleepers()).toEqual([45 * SECOND]);
    clock.advance(45 * SECOND);
    expect(await answer).toMatchObject({ kind: 'rows', requests: 2 });
    expect(waits).toEqual([45 * SECOND]);
    expect(budget.settled[0]?.settlement).toMatchObject({ status: 429, blockedForMs: 45 * SECOND });
  });

  it('without headers backs off further each time, over more attempts than other failures', async () => {
    const { list, budget } = await setUp((response, nth) =>
      nth <= 12 ? json(response, '', 429) : json(response, rows),
    );
    expect(await list()).toMatchObject({ kind: 'rows', requests: 13 });
    const blocked = budget.settled.map(({ settlement }) => settlement.blockedForMs);
    expect(blocked.slice(0, 4)).toEqual([1, 2, 4, 8].map(seconds => seconds * SECOND));
    expect(blocked.slice(10)).toEqual([10 * MINUTE, 10 * MINUTE, undefined]);
  });

  it('with noWait ends as `quota` if the block is long', async () => {
    const clock = autoClock();
    const { list } = await setUp(response => json(response, '', 429, { 'x-ratelimit-reset': '1800' }), {
      clock,
      budget: createMemoryBudget({ clock, limit: 10 }),
      noWait: true,
    });
    expect(await failure(list())).toMatchObject({ kind: 'quota', message: expect.stringContaining('10:30:00 UTC') });
    expect(clock.slept).toEqual([]);
  });

  it('without end becomes `unavailable`', async () => {
    const { list, peer } = await setUp(response => json(response, '', 429));
    expect(await failure(list())).toMatchObject({ kind: 'unavailable', status: 429 });
    expect(peer.seen).toHaveLength(24);
  });
});

describe('not retried', () => {
  it.each([
    [401, { success: false, message: 'Invalid API key' }],
    [403, { success: false, message: 'Invalid API key' }],
    [200, { success: false, message: 'Unauthorized access' }],
  ])('%i %j: the key is refused', async (status, body) => {
    const { list, peer } = await setUp(response => json(response, body, status));
    const error = await failure(list());
    expect(error).toMatchObject({
      kind: 'unauthorized',
      status,
      next: expect.stringMatching(/SOURCE_API_KEY.*Settings → API Access/),
    });
    expect(peer.seen).toHaveLength(1);
  });

  it('a list that the key may not read, which says nothing about the others', async () => {
    const { list, peer } = await setUp(response => json(response, '<h1>Forbidden</h1>', 403));
    const next = expect.stringMatching(/SOURCE_API_KEY.*Settings → API Access/) as string;
    expect(await failure(list())).toMatchObject({ kind: 'refused', status: 403, next });
    expect(peer.seen).toHaveLength(1);
  });

  it.each([200, 400, 422])('%i with field messages', async status => {
    const { list } = await setUp(response =>
      json(
        response,
        { success: false, message: 'Validation failed', errors: { limit: 'must not be above 100' } },
        status,
      ),
    );
    expect(await failure(list())).toMatchObject({
      kind: 'refused',
      status,
      fields: { limit: 'must not be above 100' },
      message: `The source refuses GET ${path}?page=1&limit=1000: Validation failed (limit: must not be above 100)`,
    });
  });
});

describe('a failure of every attempt', () => {
  it('a redirect is not followed, is shown without secrets, and the error names the setting to change', async () => {
    const other = await openPeer(response => json(response, rows));
    const { list, peer } = await setUp(
      (response, _nth, request) => json(response, '', 302, { location: `${other.url}${request.url}` }),
      { auth: 'query' },
    );
    const error = await failure(list());
    expect(error).toMatchObject({
      kind: 'unavailable',
      status: 302,
      message: expect.stringContaining(`failed 6 times: HTTP 302, a redirect to ${other.url}/, not followed because`),
    });
    expect(error.next).toContain('SOURCE_URL');
    expect([peer.seen.length, other.seen.length]).toEqual([6, 0]);
  });

  it.each([
    ['plain', (text: string) => Buffer.from(text), 'identity'],
    ['a compression bomb', (text: string) => gzipSync(text), 'gzip'],
  ] as const)('an answer above the cap ends as `refused`: %s', async (_name, pack, encoding) => {
    const { list, peer } = await setUp(
      response => {
        response.writeHead(200, { 'content-encoding': encoding });
        response.end(pack(`{"data": ["${'0'.repeat(8 * 2 ** 20)}"]}`));
      },
      { maxBodyBytes: 2 ** 20 },
    );
    // Whatever number of attempts: an answer that is too large stays so.
    expect(await failure(list())).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('failed 2 times: HTTP 200 with a body of more than 1048576 bytes'),
      next: expect.stringContaining('SOURCE_PAGE_SIZE'),
    });
    expect(peer.seen).toHaveLength(2);
  });

  it('an answer that announces more than the cap is not read', async () => {
    const { list } = await setUp(response => {
      response.writeHead(200, { 'content-length': String(10 * 2 ** 30) });
      response.write('{');
    });
    expect(await failure(list({ attempts: 2 }))).toMatchObject({ kind: 'refused', status: 200 });
  });

  it('with a long message is shortened, and no part of the key remains at the cut', async () => {
    const message = `${'x'.repeat(290)}${apiKey}${'y'.repeat(5000)}`;
    const { list } = await setUp(response => json(response, { success: false, message }, 400));
    const error = await failure(list());
    expect(error.message.length).toBeLessThan(400);
    expect(error.message).not.toContain('sk_');
  });
});

describe('large answers within the cap', () => {
  it('a page of 1000 rows, one of them with a text of 10 MB', async () => {
    const data = Array.from({ length: 1000 }, (_, id) => ({ id, notes: id === 500 ? 'é'.repeat(5 * 2 ** 20) : null }));
    const { list } = await setUp(response => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.end(gzipSync(JSON.stringify({ success: true, data })));
    });
    const answer = await list();
    expect(answer).toHaveProperty('rows', data);
  });

  it('exactly the cap passes, and one byte more does not', async () => {
    const text = JSON.stringify(rows);
    for (const [maxBodyBytes, kind] of [
      [text.length, 'rows'],
      [text.length - 1, 'refused'],
    ] as const) {
      const { list } = await setUp(response => json(response, text), { maxBodyBytes });
      const came = await list({ attempts: 1 }).catch((error: unknown) => error);
      expect(came).toMatchObject({ kind });
    }
  });

  it('a body in hundreds of thousands of pieces', async () => {
    const text = JSON.stringify({ success: true, data: [{ id: 1, notes: 'x'.repeat(300_000) }] });
    const pieces = [...text].map(byte => `1\r\n${byte}\r\n`).join('');
    const { list } = await setUp((_response, _nth, { socket }) => {
      socket.end(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${pieces}0\r\n\r\n`);
    });
    expect(await list()).toMatchObject({ kind: 'rows', bytes: text.length });
  });

  it('an error page that is read only in part is still described as one', async () => {
    const { list } = await setUp(response => json(response, `<h1>Down</h1>${' '.repeat(2 ** 20)}`, 502));
    expect((await failure(list({ attempts: 1 }))).message).toContain('HTTP 502 with an HTML page');
  });
});

describe('a source out of reach', () => {
  it('is named, and the grants are released', async () => {
    const { list, budget, clock } = await setUp(() => {}, { url: `http://127.0.0.1:${await closedPort()}` });
    const error = await failure(list());
    expect(error.message).toMatch(/failed 6 times: nothing answers at http:\/\/127\.0\.0\.1:\d+$/);
    expect([budget.open(), budget.settled.length, budget.released.length, clock.slept.length]).toEqual([0, 0, 6, 5]);
  });

  it('without a connection nothing was sent: the grant is released, and the error is not a time-out', async () => {
    const url = await openDeafServer();
    const { client, budget } = await setUp(() => {}, { url, timeoutMs: 2 * SECOND });
    const create = client.request({ method: 'POST', path, body: {} }, { ...context, attempts: 1 });
    const error = await failure(create);
    expect(error.message).toBe(`POST ${path} failed: no connection to ${url} within 1 s`);
    expect([error.outcomeUnknown, isTimeout(error)]).toEqual([false, false]);
    expect([budget.open(), budget.settled.length, budget.released.length]).toEqual([0, 0, 1]);
  });

  it.each([
    ['it speaks no TLS', async () => (await openPeer(response => json(response, rows))).url.replace('http:', 'https:')],
    ['no certificate of it is accepted', openServerWithoutCertificate],
  ])('is named when %s; nothing was sent, so the grant is released and a create is repeated', async (_why, open) => {
    const { client, budget } = await setUp(() => {}, { url: await open() });
    const create = client.request({ method: 'POST', path, body: {} }, { ...context, attempts: 2 });
    const error = await failure(create);
    expect(error.message).toMatch(/failed 2 times: no secure connection to https:\/\/127\.0\.0\.1:\d+ \(\w+\)$/);
    expect(error.outcomeUnknown).toBe(false);
    expect([budget.open(), budget.settled.length, budget.released.length]).toEqual([0, 0, 2]);
  });
});

describe('stopping', () => {
  it('a request in flight aborts it, and settles its grant instead of releasing it', async () => {
    const stop = new AbortController();
    const { list, budget } = await setUp(() => stop.abort(new SluiceError('stopped', 'Ctrl-C')));
    expect(await failure(list({ signal: stop.signal }))).toMatchObject({ kind: 'stopped', message: 'Ctrl-C' });
    expect(budget.settled.map(({ settlement }) => settlement.status)).toEqual([null]);
    expect([budget.open(), budget.released.length]).toEqual([0, 0]);
  });

  it('in the middle of an error body is a plain abort', async () => {
    const stop = new AbortController();
    const { list, budget } = await setUp(response => {
      response.writeHead(500);
      response.write('<h1>', () => setTimeout(() => stop.abort(), 20));
    });
    expect(await failure(list({ signal: stop.signal, attempts: 1 }))).toMatchObject({ kind: 'stopped' });
    expect([budget.open(), budget.settled.length]).toEqual([0, 1]);
  });

  it('between two attempts', async () => {
    const clock = manualClock();
    const stop = new AbortController();
    const { list, budget } = await setUp(response => json(response, '', 500), { clock });
    const answer = list({ signal: stop.signal });
    await clock.sleepers();
    stop.abort();
    expect(await failure(answer)).toMatchObject({ kind: 'stopped' });
    expect([budget.open(), budget.settled.length]).toEqual([0, 1]);
  });

  it('leaves no listener on the signal of a run, so Node does not warn', async () => {
    const stop = new AbortController();
    const warnings: string[] = [];
    const keep = (warning: Error) => warnings.push(warning.message);
    process.on('warning', keep);
    onTestFinished(() => void process.off('warning', keep));
    const { list } = await setUp(response => json(response, rows));
    await Promise.all(Array.from({ length: 30 }, () => list({ signal: stop.signal })));
    expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
    expect(warnings).toEqual([]);
  });

  it('by closing the client ends requests that wait and requests in flight', async () => {
    const clock = manualClock();
    const { list, budget, client, peer } = await setUp((response, nth) => nth > 1 && json(response, '', 500), {
      clock,
    });
    const failures = [list(), list(), list()].map(failure);
    await clock.sleepers(2);
    expect(peer.seen).toHaveLength(3);
    await client.close();
    expect((await Promise.all(failures)).map(({ kind }) => kind)).toEqual(['stopped', 'stopped', 'stopped']);
    expect(budget.open()).toBe(0);
    expect(await failure(list())).toMatchObject({ kind: 'stopped' });
  });
});

describe('the key', () => {
  const echo = `you sent ${apiKey}, ${encodeURIComponent(apiKey)}`;
  const answers: [string, Handler][] = [
    ['unauthorized', response => json(response, { success: false, message: `Invalid API key: ${echo}` }, 401)],
    ['refused', response => json(response, { success: false, message: echo, errors: { [apiKey]: echo } }, 422)],
    [
      'redirected',
      response =>
        json(response, '', 301, { location: `https://${encodeURIComponent(apiKey)}@example.com/?k=${apiKey}` }),
    ],
    ['failing', response => json(response, { success: false, message: echo })],
    ['reset', (_response, _nth, request) => request.socket.resetAndDestroy()],
    ['hanging', () => {}],
  ];
  it.each(answers)('appears in no error, cause or log line: %s', async (_name, handler) => {
    for (const auth of ['bearer', 'query'] as const) {
      const lines: unknown[] = [];
      const keep = (...line: unknown[]) => void lines.push(line);
      const log = { debug: keep, info: keep, warn: keep, error: keep } as unknown as NonNullable<ClientOptions['log']>;
      const { client } = await setUp(handler, { auth, log, timeoutMs: 50 });
      const error = await failure(client.list(path, { search: apiKey }, {}, { ...context, attempts: 2 }));
      expect(lines.length).toBeGreaterThan(0);
      const shown = [...everyString(error), ...everyString(lines)].join('\n');
      for (const form of [
        apiKey,
        encodeURIComponent(apiKey),
        new URLSearchParams({ k: apiKey }).toString().slice(2),
        'sk_live',
      ]) {
        expect(shown).not.toContain(form);
      }
    }
  });
});

/** All strings reachable from a value, including causes, stacks and properties that JSON does not show. */
function everyString(value: unknown, seen = new Set<unknown>()): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null || seen.has(value)) return [];
  seen.add(value);
  return Reflect.ownKeys(value).flatMap(key => [String(key), ...everyString(Reflect.get(value, key), seen)]);
}

/** The address of a server whose TLS handshake fails. */
async function openServerWithoutCertificate(): Promise<string> {
  const server = createTlsServer({}).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A port where nothing listens: one that was free a moment ago. */
async function closedPort(): Promise<number> {
  const { createServer } = await import('node:net');
  const server = createServer();
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise(resolve => server.close(resolve));
  return port;
}
