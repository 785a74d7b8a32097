import { expect, test } from 'vitest';
import { parseVariants } from '../../../sandbox/parse/parse-variants.ts';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { some } from '../../support/long.ts';
import type { TestResource } from '../../support/resources.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

const LISTS = ['invoices', 'transactions'] as const satisfies TestResource[];
const SPANS = ['first-92', 'last-92', 'rejected-92'];
const PAGINGS = ['meta', 'no-meta', 'whole'];

/** Lists that are called complete. */
async function completeLists(database: Database): Promise<string[]> {
  const { rows } = await database.query<{ resource: string }>(
    `select resource from sluice.complete('-infinity', 'infinity') where complete order by 1`,
  );
  return rows.map(({ resource }) => resource);
}

test.each(
  some(
    SPANS.flatMap(span => PAGINGS.map(paging => ({ span, paging }))),
    2,
  ),
)(
  'a date filter that selects at most 92 days ($span, paging=$paging) hides no row and deletes none',
  async ({ span, paging }) => {
    const variants = parseVariants(`date-span=${span},paging=${paging}`);
    const size = { customers: 40, invoices: 150, transactions: 200 };
    const sandbox = await openSandbox({ size, rateLimit: 0, variants });
    await withDatabase(async database => {
      const engine = await openEngine(database, sandbox, { limit: 100_000, resources: [...LISTS], pageSize: 20 });
      for (let round = 0; round < 4; round++) {
        if (round > 0) sandbox.changeRandom(20);
        if (round === 2) await serveOrders(engine, 'verify', { repair: true });
        else await serveOrders(engine, 'sync', { whole: true });
        const found = await differences(database, sandbox, 10_000, LISTS);
        expect(found.filter(text => text.endsWith(' is absent'))).toEqual([]);
        for (const list of await completeLists(database))
          expect(found.filter(text => text.startsWith(list))).toEqual([]);
      }
      expect(await completeLists(database)).toEqual([...LISTS]);
      const { rows } = await database.query<{ resource: TestResource; key: string }>(
        `select resource, key from warehouse.row_history where ended_by = 'deleted'`,
      );
      for (const { resource, key } of rows)
        expect([...sandbox.rows(resource as 'invoices')].map(row => String(row.id))).not.toContain(key);
      await engine.close();
    });
    await sandbox.close();
  },
);
