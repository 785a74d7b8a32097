import { describe, expect, it, onTestFinished } from 'vitest';
import { openSandbox, type SandboxOptions } from '../../sandbox/sandbox.ts';
import { createMemoryBudget } from '../../src/budget/memory-budget.ts';
import { MINUTE, SECOND } from '../../src/clock.ts';
import { SluiceError } from '../../src/errors.ts';
import { openClient } from '../../src/source/client.ts';
import { countingBudget } from '../budget/counting-budget.ts';
import { autoClock } from '../support/manual-clock.ts';

const context = { lane: 'live', purpose: 'test' } as const;

async function setUp(variants: NonNullable<SandboxOptions['variants']>, knownConcurrency?: number) {
  const clock = autoClock();
  const sandbox = await openSandbox({ clock, variants });
  onTestFinished(() => sandbox.close());
  const budget = countingBudget(createMemoryBudget({ clock, limit: 1000 }));
  const { url, apiKey } = sandbox;
  const changes: number[] = [];
  const client = openClient({
    url,
    apiKey,
    auth: 'bearer',
    budget,
    concurrency: 8,
    knownConcurrency,
    onConcurrency: allowed => changes.push(allowed),
    timeoutMs: 30_000,
    clock,
  });
  onTestFinished(() => client.close());
  return { sandbox, client, clock, budget, changes };
}

describe('a source that serves few requests at once, while hundreds are left', () => {
  it.each(['1', '2', '2-503'] as const)('concurrency=%s: is read without long waits', async concurrency => {
    const { client, sandbox, clock, changes } = await setUp({ concurrency });
    const pages = Array.from({ length: 40 }, () => client.list('/api/v2/customers', {}, { page: 1 }, context));
    for (const answer of await Promise.all(pages)) expect(answer.kind).toBe('rows');
    expect(Math.max(...clock.slept)).toBeLessThanOrEqual(8 * SECOND);
    expect(sandbox.stats.total).toBeLessThan(100);
    expect(changes.slice(0, 2)).toEqual([4, 2]);
  });

  it('the key is blocked only as long as the source asks, however often it refuses', async () => {
    const { client, budget } = await setUp({ concurrency: '1' });
    await Promise.all(Array.from({ length: 20 }, () => client.list('/api/v2/customers', {}, { page: 1 }, context)));
    const refused = budget.settled.map(({ settlement }) => settlement).filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(2);
    for (const settlement of refused) expect(settlement).toMatchObject({ blockedForMs: SECOND, crowded: true });
  });

  it('a process that knows the number from an earlier one is not refused', async () => {
    const { client, sandbox, changes } = await setUp({ concurrency: '2' }, 2);
    await Promise.all(Array.from({ length: 20 }, () => client.list('/api/v2/customers', {}, { page: 1 }, context)));
    expect([sandbox.stats.total, changes]).toEqual([20, []]);
  });

  it('a source that refuses even one request at a time ends in an error that names the setting', async () => {
    const { client, sandbox, clock } = await setUp({});
    sandbox.failNext('json-429', 100);
    const error = await client
      .list('/api/v2/customers', {}, { page: 1 }, context)
      .catch((reason: unknown) => reason as SluiceError);
    expect(error).toMatchObject({
      kind: 'unavailable',
      message: 'GET /api/v2/customers?page=1 failed 24 times: HTTP 429, too many requests at once',
      next: expect.stringContaining('Lower SOURCE_CONCURRENCY'),
    });
    expect(clock.slept.reduce((sum, ms) => sum + ms, 0)).toBeLessThan(20 * MINUTE);
  });

  it('a create that is refused with 503 is not repeated, because it may have been carried out', async () => {
    const { client } = await setUp({ concurrency: '2-503' });
    const path = '/api/v2/customers';
    const creates = Array.from({ length: 8 }, (_, nth) =>
      client.request({ method: 'POST', path, body: { account: `A${nth}` } }, context).catch((error: unknown) => error),
    );
    const failed = (await Promise.all(creates)).filter(each => each instanceof SluiceError);
    expect(failed.length).toBeGreaterThan(0);
    for (const error of failed) expect(error).toMatchObject({ kind: 'unavailable', outcomeUnknown: true, status: 503 });
  });
});
