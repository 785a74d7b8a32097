import { expect, test } from 'vitest';
import { parseVariants } from '../../../sandbox/parse/parse-variants.ts';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { some } from '../../support/long.ts';
import type { TestResource } from '../../support/resources.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

const LISTS = ['invoices', 'transactions'] as const satisfies TestResource[];

test.each(some(['meta', 'no-meta', 'whole'], 1))(
  'a date_to that selects only part of its day hides no row and deletes none (paging=%s)',
  async paging => {
    const variants = parseVariants(`date-times=mixed,paging=${paging},limit-max=20-reject`);
    const size = { customers: 20, invoices: 30, transactions: 60 };
    const sandbox = await openSandbox({ size, rateLimit: 0, variants });
    const add = (date: string, times: number) => {
      for (let n = 0; n < times; n++)
        sandbox.insert('transactions', {
          ...{ type: 'Income', account_id: 1, category_id: 1, amount: n, description: '', date },
        });
    };
    // Days with many rows, side by side: they are asked for one by one.
    for (const day of ['11', '12', '13']) add(`2025-03-${day}`, 85);
    await withDatabase(async database => {
      const engine = await openEngine(database, sandbox, { limit: 100_000, resources: [...LISTS] });
      for (let round = 0; round < 4; round++) {
        if (round > 0) sandbox.changeRandom(20);
        if (round > 1) add('2025-03-12', 5);
        if (round === 2) await serveOrders(engine, 'verify', { repair: true });
        else
          expect((await serveOrders(engine, 'sync', { whole: true })).map(({ reason }) => reason)).toEqual([
            null,
            null,
          ]);
        expect(await differences(database, sandbox, 5, LISTS)).toEqual([]);
      }
      await engine.close();
    });
    await sandbox.close();
  },
);
