import { expect, test } from 'vitest';
import type { Table } from '../../../sandbox/data/table.ts';
import { createListing } from '../../../sandbox/lists/ordering.ts';
import type { Variants } from '../../../sandbox/variants/variants.ts';
import { createManualClock, openForTest } from '../test-client.ts';

test('a long list stays ordered through changes, as if sorted from scratch', async () => {
  const clock = createManualClock();
  const sandbox = await openForTest({ size: 'medium', clock });
  const table = sandbox.data.transactions as Table<{ id: number }>;
  const used = createListing(table, 1);
  const keys: Partial<Record<Variants['order'], (position: number) => number>> = {
    'updated-desc': position => table.columns.changed[position] as number,
    'date-desc': position => table.columns.days[position] as number,
  };
  for (const changes of [0, 1, 200, 5_000, 30]) {
    clock.advance(1000);
    sandbox.changeRandom(changes);
    for (const order of ['updated-desc', 'date-desc', 'shuffled'] as const) {
      const found = [...used.positions({}, order, 'all', 0)];
      expect(found).toEqual([...createListing(table, 1).positions({}, order, 'all', 0)]);
      expect(found).toHaveLength(table.size);
      const key = keys[order];
      if (key) expect(found).toEqual([...found].sort((a, b) => key(b) - key(a) || b - a));
    }
  }
});
