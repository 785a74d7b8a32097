import { expect, test } from 'vitest';
import { openSandbox, type SandboxOptions } from '../../../sandbox/sandbox.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
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
