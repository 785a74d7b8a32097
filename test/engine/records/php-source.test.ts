import { expect, test } from 'vitest';
import { openSandbox, type SandboxOptions } from '../../../sandbox/sandbox.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { some } from '../../support/long.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

test.each<NonNullable<SandboxOptions['variants']>>([
  { lists: 'object' },
  { lists: 'gaps', paging: 'whole' },
  { timestamps: 'epoch' },
  { timestamps: 'epoch-ms', numbers: 'strings' },
  { timestamps: 'epoch', order: 'updated-desc' },
])('a source with %j is read exactly', async variants => {
  await withDatabase(async database => {
    const sandbox = await openSandbox({ variants });
    const engine = await openEngine(database, sandbox);
    try {
      expect((await serveOrders(engine, 'sync')).map(({ state }) => state)).toEqual(['done', 'done', 'done']);
      expect(await differences(database, sandbox)).toEqual([]);
      const { rows } = await database.query('select count(*)::int as count from sluice.quarantine');
      expect(rows).toEqual([{ count: 0 }]);
    } finally {
      await engine.close();
      await sandbox.close();
    }
  });
});

test.each(some(['id-desc', 'id-asc', 'date-desc'] as const, 1))(
  'lists whose names are the ids of their rows have no order that the answer shows (%s)',
  async order => {
    await withDatabase(async database => {
      const size = { customers: 300, invoices: 300, transactions: 300 };
      const sandbox = await openSandbox({
        size,
        rateLimit: 0,
        variants: { lists: 'object', 'list-names': 'ids', order },
      });
      const engine = await openEngine(database, sandbox, { limit: 100_000 });
      for (let turn = 0; turn < 2; turn++) {
        expect((await serveOrders(engine, 'sync')).map(({ state, reason }) => reason ?? state)).toEqual([
          'done',
          'done',
          'done',
        ]);
        expect(await differences(database, sandbox)).toEqual([]);
        sandbox.changeRandom(30);
        sandbox.remove('customers', [...sandbox.rows('customers')][100]?.id as number);
      }
      const { rows } = await database.query("select distinct value from sluice.traits where trait = 'order'");
      expect(rows).toEqual([{ value: 'none' }]);
      await engine.close();
      await sandbox.close();
    });
  },
);
