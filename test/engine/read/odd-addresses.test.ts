import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { deletionMark } from '../../../src/engine/profile/observe-address.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

const INSTEAD = {
  null: 'HTTP 200 with data null',
  'not-found': 'HTTP 200: Customer not found',
  '400': 'Invalid customer',
  marked: 'the row with "deleted_at"',
} as const;

test.each(Object.entries(INSTEAD))(
  'deleted customers whose address answers otherwise than with 404 (%s) leave once the list lacks them twice',
  async (variant, evidence) => {
    const sandbox = await openSandbox({
      size: { customers: 120, invoices: 10, transactions: 10 },
      rateLimit: 0,
      variants: { 'deleted-customer': variant as keyof typeof INSTEAD },
    });
    await withDatabase(async database => {
      const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['customers'] });
      await serveOrders(engine, 'sync');
      for (let deleted = 0; deleted < 4; deleted++) sandbox.change('customer-deleted');
      const before = sandbox.stats.total;
      expect((await serveOrders(engine, 'sync')).map(({ state }) => state)).toEqual(['done']);
      expect(sandbox.stats.total - before).toBeLessThan(20);
      expect(await differences(database, sandbox, 5, ['customers'])).toEqual([]);
      const { rows } = await database.query(`select value, evidence from sluice.traits where trait = 'address'`);
      expect(rows).toEqual([{ value: 'no 404', evidence: expect.stringContaining(evidence) as string }]);
      await engine.close();
    });
    await sandbox.close();
  },
);

test('a mark of deletion is a field of that name with a value', () => {
  const marked = [{ deleted_at: '2026-01-01' }, { is_deleted: 1 }, { deleted: true }, { trashed: '1' }];
  for (const record of marked)
    expect(deletionMark({ id: 7, ...record })).toBe(`the row with "${Object.keys(record)[0]}"`);
  const unmarked = [{ deleted_at: null }, { is_deleted: 0 }, { deleted: 'false' }, { undeleted_rows: 3 }, {}];
  for (const record of unmarked) expect(deletionMark({ id: 7, ...record })).toBe(null);
});
