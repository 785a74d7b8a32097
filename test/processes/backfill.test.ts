import { expect, test, vi } from 'vitest';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { Database } from '../../src/warehouse/database/database.ts';
import { type Installation, run, useBuild, withInstallation } from '../cli/run-command.ts';
import { differences } from '../support/compare.ts';
import { some } from '../support/long.ts';
import { interrupt } from './interrupt.ts';

useBuild();
vi.setConfig({ testTimeout: 180_000 });

const CONCURRENCY = 4;
const SOURCE = {
  size: { customers: 50, invoices: 6000, transactions: 10 },
  latencyMs: 15,
  today: '2026-03-15',
};
const BACKFILL = ['backfill', 'invoices', '--from', '2025-01-01', '--to', '2025-12-31', '--json'];

interface Interruption {
  readonly signal: NodeJS.Signals;
  /** After this many requests of its process. */
  readonly requests: number;
}

let unbroken = 0;

test('a backfill of a year reads every row of that year', async () => {
  await withInstallation(SOURCE, async given => {
    unbroken = await backfill(given, []);
    // Enough requests to interrupt.
    expect(unbroken).toBeGreaterThan(55);
  });
});

const int = (requests: number): Interruption => ({ signal: 'SIGINT', requests });
const kill = (requests: number): Interruption => ({ signal: 'SIGKILL', requests });

for (const interruptions of some(
  [[int(30)], [kill(17)], [kill(50)], [kill(6), int(1), kill(12), kill(2), kill(2), int(9)]],
  1,
)) {
  const description = interruptions.map(({ signal, requests }) => `${signal} after ${requests}`).join(', ');
  test(`a backfill ended by ${description} requests continues, at a cost of at most 2 x SOURCE_CONCURRENCY requests each time`, async () => {
    await withInstallation(SOURCE, async given => {
      const requests = await backfill(given, interruptions);
      expect(requests).toBeLessThanOrEqual(unbroken + interruptions.length * 2 * CONCURRENCY);
    });
  });
}

/** Requests until the year is complete; each interruption hits a new process. */
async function backfill(
  { sandbox, database, env: given }: Installation,
  interruptions: readonly Interruption[],
): Promise<number> {
  const env = { ...given, SOURCE_PAGE_SIZE: '20' };
  for (const interruption of interruptions) {
    const { signalled, ...ended } = await interrupt(sandbox, BACKFILL, { env, ...interruption });
    expect(signalled).toBe(true);
    if (interruption.signal === 'SIGINT')
      expect([ended.code, ended.json().error]).toEqual([1, expect.objectContaining({ kind: 'stopped' })]);
  }
  const last = await run(BACKFILL, { env });
  expect([last.code, last.json().resources]).toMatchObject([0, [{ resource: 'invoices', state: 'done', order: 1 }]]);
  expect(await yearsDifferences(database, sandbox)).toEqual([]);
  expect(await openOnes(database)).toEqual({ orders: 0, runs: 0 });
  return sandbox.stats.total;
}

/** Rows outside the year must be right too, but need not be complete. */
async function yearsDifferences(database: Database, sandbox: Sandbox): Promise<string[]> {
  const year = new Set<string>();
  for (const { id, date } of sandbox.rows('invoices'))
    if (date?.startsWith('2025-')) year.add(`invoices ${id} is absent`);
  const all = await differences(database, sandbox, Number.POSITIVE_INFINITY);
  return all.filter(text => year.has(text) || !text.endsWith('is absent'));
}

async function openOnes(database: Database): Promise<unknown> {
  const { rows } = await database.query(
    `select (select count(*)::int from sluice.orders where ended_at is null) as orders,
      (select count(*)::int from sluice.runs where ended_at is null) as runs`,
  );
  return rows[0];
}
