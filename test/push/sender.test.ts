import { expect, onTestFinished, test } from 'vitest';
import type { Budget } from '../../src/budget/budget.ts';
import { createMemoryBudget } from '../../src/budget/memory-budget.ts';
import { systemClock } from '../../src/clock.ts';
import { createSender } from '../../src/push/sender.ts';
import { openClient } from '../../src/source/client.ts';
import { json, openPeer } from '../source/peer.ts';

/** A sender to a peer that creates whatever it is sent; `onTaken` is called while a grant is on its way from the ledger. */
async function openSender(onTaken: () => void = () => undefined) {
  const { url, seen } = await openPeer(response => json(response, { success: true, data: { id: 1 } }, 201));
  const inner = createMemoryBudget({ limit: 1, clock: systemClock });
  const budget: Budget = {
    ...inner,
    async take(lane, want) {
      const taken = await inner.take(lane, want);
      onTaken();
      return taken;
    },
  };
  const sender = createSender(budget, noticed =>
    openClient({
      url,
      apiKey: 'key',
      auth: 'bearer',
      budget: noticed,
      concurrency: 1,
      timeoutMs: 5000,
      clock: systemClock,
    }),
  );
  onTestFinished(() => sender.close());
  const request = { path: '/api/v2/leads', body: { company: 'A' }, purpose: 'push leads' };
  return { sender, seen, request, inner };
}

test('a stop while the budget is asked: nothing is marked as sent, and the grant is released', async () => {
  const stop = new AbortController();
  const { sender, seen, request, inner } = await openSender(() => stop.abort());
  let said = 0;
  const sent = await sender.send(request, async () => void said++, stop.signal);
  await sender.close();
  expect([sent.kind, said, seen.length]).toEqual(['unsent', 0, 0]);
  expect((await inner.take('live', 1)).grants).toHaveLength(1);
});

test('a stop while the request is being marked as sent: it goes out, and its answer is awaited', async () => {
  const stop = new AbortController();
  const { sender, seen, request } = await openSender();
  const beforeSending = async () => {
    stop.abort();
    await systemClock.sleep(1);
  };
  expect(await sender.send(request, beforeSending, stop.signal)).toMatchObject({ kind: 'answered' });
  expect(seen).toHaveLength(1);
});

test('an error while the request is being marked as sent is thrown; nothing is sent, and the grant is released', async () => {
  const { sender, seen, request, inner } = await openSender();
  const beforeSending = () => Promise.reject(new Error('overtaken'));
  await expect(sender.send(request, beforeSending, new AbortController().signal)).rejects.toThrow('overtaken');
  expect(seen).toHaveLength(0);
  expect((await inner.take('live', 1)).grants).toHaveLength(1);
});
