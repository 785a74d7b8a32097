import { describe, expect, test } from 'vitest';
import type { SandboxOptions } from '../../../sandbox/sandbox.ts';
import { HOUR, MINUTE } from '../../../src/clock.ts';
import { createManualClock, openForTest, request, TODAY } from '../test-client.ts';

const NOON = Date.parse(`${TODAY}T12:00:00Z`);

async function openLimited(variants: SandboxOptions['variants'] = {}, options: SandboxOptions = {}) {
  const clock = createManualClock();
  const sandbox = await openForTest({ clock, rateLimit: 3, variants: variants ?? {}, ...options });
  const statuses = async (count: number) => {
    const seen: number[] = [];
    for (let index = 0; index < count; index += 1) seen.push((await request(sandbox, '/api/v2/users')).status);
    return seen;
  };
  return { clock, sandbox, statuses };
}

describe('the window', () => {
  test('sliding: each request leaves the window one window length after it arrived', async () => {
    const { clock, statuses } = await openLimited();
    expect(await statuses(1)).toEqual([200]);
    clock.advance(30 * MINUTE);
    expect(await statuses(3)).toEqual([200, 200, 429]);
    clock.advance(30 * MINUTE - 1);
    expect(await statuses(1)).toEqual([429]);
    clock.advance(1);
    expect(await statuses(2)).toEqual([200, 429]);
    clock.advance(30 * MINUTE);
    expect(await statuses(3)).toEqual([200, 200, 429]);
  });

  test('fixed: the whole limit is available when the next hour begins', async () => {
    const { clock, statuses } = await openLimited({ 'rate-window': 'fixed' });
    clock.advance(59 * MINUTE);
    expect(await statuses(4)).toEqual([200, 200, 200, 429]);
    clock.advance(MINUTE);
    expect(await statuses(4)).toEqual([200, 200, 200, 429]);
  });

  test('token bucket: one request becomes available every 20 minutes, up to three', async () => {
    const { clock, statuses } = await openLimited({ 'rate-window': 'token-bucket' });
    expect(await statuses(4)).toEqual([200, 200, 200, 429]);
    clock.advance(20 * MINUTE);
    expect(await statuses(2)).toEqual([200, 429]);
    clock.advance(5 * HOUR);
    expect(await statuses(4)).toEqual([200, 200, 200, 429]);
  });

  test('rejected requests count only under rejected-count=yes', async () => {
    const { clock, statuses } = await openLimited({ 'rejected-count': 'yes' });
    expect(await statuses(3)).toEqual([200, 200, 200]);
    clock.advance(30 * MINUTE);
    expect(await statuses(1)).toEqual([429]);
    clock.advance(30 * MINUTE);
    expect(await statuses(3)).toEqual([200, 200, 429]);
  });

  test('0 switches the limit and its headers off', async () => {
    const { sandbox, statuses } = await openLimited({}, { rateLimit: 0 });
    expect(new Set(await statuses(30))).toEqual(new Set([200]));
    expect((await request(sandbox, '/api/v2/users')).headers.has('x-ratelimit-limit')).toBe(false);
  });

  test('its length is configurable', async () => {
    const { clock, statuses } = await openLimited({}, { rateWindowMs: 1000 });
    expect(await statuses(4)).toEqual([200, 200, 200, 429]);
    clock.advance(1000);
    expect(await statuses(1)).toEqual([200]);
  });
});

describe('headers', () => {
  test('limit, remaining and reset are on every response, whatever its status', async () => {
    const { sandbox } = await openLimited({}, { rateLimit: 5 });
    const answers = [
      await request(sandbox, '/api/v2/users'),
      await request(sandbox, '/api/v2/nothing'),
      await request(sandbox, '/api/v2/customers', { body: {} }),
      await request(sandbox, '/api/v2/customers/999999'),
      await request(sandbox, '/api/v2/users'),
      await request(sandbox, '/api/v2/users'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 400, 404, 200, 429]);
    expect(answers.map(({ headers }) => headers.get('x-ratelimit-remaining'))).toEqual(['4', '3', '2', '1', '0', '0']);
    for (const { headers } of answers) {
      expect(headers.get('x-ratelimit-limit')).toBe('5');
      expect(headers.get('x-ratelimit-reset')).toBe(String((NOON + HOUR) / 1000));
    }
    expect(answers.at(-1)?.body).toEqual({ success: false, message: 'Too many requests' });
    expect(answers.map(({ headers }) => headers.get('retry-after'))).toEqual([null, null, null, null, null, '3600']);
  });

  test.for([
    ['epoch-s', String((NOON + HOUR) / 1000)],
    ['epoch-ms', String(NOON + HOUR)],
    ['seconds', '3600'],
    ['http-date', 'Thu, 15 Jan 2026 13:00:00 GMT'],
    ['stale', '1577836800'],
  ] as const)('rate-reset=%s', async ([style, text]) => {
    const { sandbox } = await openLimited({ 'rate-reset': style });
    expect((await request(sandbox, '/api/v2/users')).headers.get('x-ratelimit-reset')).toBe(text);
  });

  test.for([
    ['seconds', '1800'],
    ['http-date', 'Thu, 15 Jan 2026 13:00:00 GMT'],
    ['absent', null],
  ] as const)('retry-after=%s', async ([style, text]) => {
    const { clock, sandbox, statuses } = await openLimited({ 'retry-after': style });
    await statuses(3);
    clock.advance(30 * MINUTE);
    const { status, headers } = await request(sandbox, '/api/v2/users');
    expect(status).toBe(429);
    expect(headers.get('retry-after')).toBe(text);
  });

  test('rate-headers=only-429', async () => {
    const { sandbox, statuses } = await openLimited({ 'rate-headers': 'only-429' });
    expect((await request(sandbox, '/api/v2/users')).headers.has('x-ratelimit-remaining')).toBe(false);
    await statuses(2);
    expect((await request(sandbox, '/api/v2/users')).headers.get('x-ratelimit-remaining')).toBe('0');
  });

  test('rejected-body=html', async () => {
    const { sandbox, statuses } = await openLimited({ 'rejected-body': 'html' });
    await statuses(3);
    const { status, text, headers } = await request(sandbox, '/api/v2/users');
    expect(status).toBe(429);
    expect(headers.get('content-type')).toContain('text/html');
    expect(text).toContain('<html>');
  });

  test('another tool with the same key lowers remaining', async () => {
    const { sandbox } = await openLimited({ 'shared-key': 'yes' }, { rateLimit: 100 });
    const remaining: (string | null)[] = [];
    for (let index = 0; index < 5; index += 1) {
      remaining.push((await request(sandbox, '/api/v2/users')).headers.get('x-ratelimit-remaining'));
    }
    expect(remaining).toEqual(['99', '98', '97', '95', '94']);
    sandbox.spend(50);
    expect((await request(sandbox, '/api/v2/users')).headers.get('x-ratelimit-remaining')).toBe('43');
  });
});

describe('stats', () => {
  test('maxInWindow is the maximum in any rolling window, including rejected requests', async () => {
    const { clock, sandbox, statuses } = await openLimited();
    await statuses(2);
    clock.advance(40 * MINUTE);
    await statuses(2);
    expect(sandbox.stats.maxInWindow).toBe(4);
    clock.advance(20 * MINUTE);
    await statuses(2);
    expect(sandbox.stats.maxInWindow).toBe(4);
    clock.advance(40 * MINUTE);
    await statuses(3);
    expect(sandbox.stats.maxInWindow).toBe(5);
    clock.advance(20 * MINUTE - 1);
    await statuses(1);
    expect(sandbox.stats.maxInWindow).toBe(6);
    expect(sandbox.stats.rejected).toBeGreaterThan(0);
  });

  test('a fixed window admits twice the limit, and maxInWindow shows it', async () => {
    const { clock, sandbox, statuses } = await openLimited({ 'rate-window': 'fixed' });
    clock.advance(59 * MINUTE);
    await statuses(3);
    clock.advance(MINUTE);
    expect(await statuses(3)).toEqual([200, 200, 200]);
    expect(sandbox.stats.maxInWindow).toBe(6);
  });

  test('requests are counted by path and logged without the key', async () => {
    const { sandbox } = await openLimited({}, { rateLimit: 1000, logRequests: 3 });
    await request(sandbox, '/api/v2/customers');
    await request(sandbox, '/api/v2/customers/1');
    await request(sandbox, '/api/v2/customers/22222');
    await request(sandbox, '/api/v2/customers', { body: {} });
    await request(sandbox, `/?api_key=${sandbox.apiKey}&ng=api/v2/invoices&status=Unpaid&page=2`, { key: null });
    const { stats } = sandbox;
    expect(stats.total).toBe(5);
    expect(stats.byPath).toEqual({
      'GET /api/v2/customers': 1,
      'GET /api/v2/customers/{id}': 2,
      'POST /api/v2/customers': 1,
      'GET /api/v2/invoices': 1,
    });
    expect(stats.requests).toEqual([
      { method: 'GET', path: '/api/v2/customers/22222', at: NOON, status: 404 },
      { method: 'POST', path: '/api/v2/customers', at: NOON, status: 400 },
      { method: 'GET', path: '/api/v2/invoices?status=Unpaid&page=2', at: NOON, status: 200 },
    ]);
    stats.reset();
    expect([stats.total, stats.maxInWindow, stats.requests]).toEqual([0, 0, []]);
  });

  test('latency advances the clock', async () => {
    const { clock, sandbox } = await openLimited({}, { latencyMs: 250 });
    await request(sandbox, '/api/v2/users');
    expect(clock.now()).toBe(NOON + 250);
  });
});
