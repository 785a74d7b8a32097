import { expect, test } from 'vitest';
import transactions from '../../jobs/transactions.ts';
import { slicingOf } from '../../src/engine/job.ts';
import type { Resource } from '../../src/engine/resource.ts';
import { choose } from '../../src/engine/run/choose.ts';
import { createTask, type Task } from '../../src/engine/run/task.ts';
import { parseSlice, sliceText } from '../../src/engine/slices/slice.ts';
import type { Entry } from '../../src/warehouse/ledgers/coverage.ts';

const NOW = Date.parse('2026-01-15T10:00:00Z');
const MINUTE = 60_000;
const [OLD, MIDDLE, NEW] = ['date ..2023-12-31', 'date 2024-01-01..2024-12-31', 'date 2025-01-01..'];

/** Windows that were read so many minutes ago; most changes are in the middle one, so that its turn comes first. */
function transactionsWith(ages: Readonly<Record<string, number>>): Resource {
  const entries = Object.entries(ages).map(([text, age]): Entry => {
    const provenAt = NOW - age * MINUTE;
    const history = { changed: text === MIDDLE ? 500 : 0, hoursWatched: 1, dueSince: null, dueReason: null };
    return { slice: parseSlice(text), provenAt, readAt: provenAt, requests: 1, rows: 900, ...history };
  });
  return {
    source: 'main',
    name: 'transactions',
    job: transactions,
    dates: slicingOf(transactions, 'date'),
    traits: new Map([['page size', '100']]),
    entries: new Map(entries.map(entry => [sliceText(entry.slice), entry])),
    reading: new Set(),
    turn: 0,
  } as unknown as Resource;
}

/** What the task reads, window after window, while the middle one lacks a row that it lacked `ago` minutes ago. */
async function readBy(task: Task, ago: number): Promise<string[]> {
  const since = new Date(NOW - ago * MINUTE).toISOString().replace('Z', '+00');
  const missing = [{ key: '7', slice: MIDDLE, since, value: null }];
  const context = { now: NOW, today: '2026-01-15', affordable: true, missing: async () => missing };
  const read: string[] = [];
  for (;;) {
    const next = await choose(task, context);
    if (typeof next === 'string') return read;
    read.push(sliceText(next.slice));
    const entry = task.resource.entries.get(sliceText(next.slice)) as Entry;
    task.resource.entries.set(sliceText(next.slice), { ...entry, provenAt: NOW + read.length });
  }
}

const backfill = (resource: Resource, given: Partial<Task> = {}) =>
  createTask({
    kind: 'backfill',
    resource,
    runId: '1',
    orderId: null,
    since: NOW - 30 * MINUTE,
    lane: 'backfill',
    allowance: 0,
    ...given,
  });

test('a window that lacked a row is read again after all the others, which may show it', async () => {
  const read = await readBy(backfill(transactionsWith({ [OLD]: 27, [MIDDLE]: 25, [NEW]: 26 })), 25);
  expect([read.slice(0, 2).sort(), read[2]]).toEqual([[OLD, NEW], MIDDLE]);
});

test('an order over a part of the list, which can confirm nothing, does not ask again for what a window lacked', async () => {
  const range = { from: '2024-01-01', to: '2024-12-31' };
  expect(await readBy(backfill(transactionsWith({ [OLD]: 60, [MIDDLE]: 10, [NEW]: 70 }), range), 10)).toEqual([]);
  // Where the rest was read since, it can.
  const [first] = await readBy(backfill(transactionsWith({ [OLD]: 5, [MIDDLE]: 10, [NEW]: 6 }), range), 10);
  expect(first).toBe(MIDDLE);
});
