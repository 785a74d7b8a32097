import { expect, test } from 'vitest';
import { createBatch } from '../../src/budget/ledger/settle.ts';

test('items that arrive while others are done are done together, in their order', async () => {
  const done: number[][] = [];
  const waiting: (() => void)[] = [];
  const batch = createBatch<number>(async items => {
    await new Promise<void>(resolve => waiting.push(resolve));
    done.push([...items]);
  });
  const all = [batch(1)];
  await Promise.resolve();
  await Promise.resolve();
  all.push(batch(2), batch(3));
  for (const nth of [0, 1]) {
    while (waiting.length <= nth) await new Promise(resolve => setImmediate(resolve));
    waiting[nth]?.();
  }
  await Promise.all(all);
  expect(done).toEqual([[1], [2, 3]]);
});

test('a batch that fails rejects its own items, and no later ones', async () => {
  const batch = createBatch<string>(([item]) => (item === 'bad' ? Promise.reject(new Error(item)) : Promise.resolve()));
  await expect(batch('bad')).rejects.toThrow('bad');
  await expect(batch('good')).resolves.toBeUndefined();
});
