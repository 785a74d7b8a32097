import { expect, test } from 'vitest';
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts';
import type { Variants } from '../../../sandbox/variants/variants.ts';
import { HOUR } from '../../../src/clock.ts';
import { deletionMark } from '../../../src/engine/profile/observe-address.ts';
import type { Engine } from '../../../src/engine/run/engine.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { oneGrantAtATime, openEngine, serveOrders } from '../../support/source.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';

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

/** 120 customers, stored, whose addresses answer like this once they are deleted. */
async function withOddAddresses(
  variant: Variants['deleted-address'],
  work: (given: { clock: VirtualClock; database: Database; engine: Engine; sandbox: Sandbox }) => Promise<void>,
): Promise<void> {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const size = { customers: 120, invoices: 10, transactions: 10 };
    const sandbox = await openSandbox({ size, rateLimit: 0, clock, variants: { 'deleted-address': variant } });
    const engine = await openEngine(database, sandbox, {
      clock,
      limit: 100_000,
      resources: ['customers'],
      wrapBudget: oneGrantAtATime(clock),
    });
    await serveOrders(engine, 'sync');
    await work({ clock, database, engine, sandbox });
    await engine.close();
    await sandbox.close();
  });
}

test.each([
  ['unmarked', 'got it for a day'],
  ['archived', 'got it for a day'],
  ['merged', 'got row 1'],
  ['500', 'HTTP 500'],
  ['301', 'HTTP 301'],
] as const)(
  'deleted customers whose address answers, but not as deleted (%s), leave once the list lacks them in another way',
  async (variant, evidence) => {
    await withOddAddresses(variant, async ({ clock, database, engine, sandbox }) => {
      const ids = [...sandbox.rows('customers')].map(({ id }) => id);
      for (const id of [ids[20], ids[90]]) sandbox.remove('customers', id as number);
      for (let round = 0; round < 3; round++) {
        await clock.advance(13 * HOUR);
        const before = sandbox.stats.total;
        expect((await serveOrders(engine, 'sync')).map(({ reason, state }) => reason ?? state)).toEqual(['done']);
        expect(sandbox.stats.total - before).toBeLessThan(60);
      }
      expect(await differences(database, sandbox, 5, ['customers'])).toEqual([]);
      const { rows: deleted } = await database.query<{ key: string }>(
        "select key from warehouse.row_history where ended_by = 'deleted' order by key::int",
      );
      expect(deleted.map(({ key }) => Number(key))).toEqual([ids[20], ids[90]]);
      const { rows } = await database.query(`select value, evidence from sluice.traits where trait = 'address'`);
      expect(rows).toEqual([{ value: 'no 404', evidence: expect.stringContaining(evidence) as string }]);
    });
  },
);

test.each(['unmarked', 'archived'] as const)(
  'a single deleted customer that its address still shows (%s) leaves, too, once the list has lacked it for a day',
  async variant => {
    await withOddAddresses(variant, async ({ clock, database, engine, sandbox }) => {
      const gone = [...sandbox.rows('customers')][60]?.id as number;
      sandbox.remove('customers', gone);
      const isStored = async () =>
        (await database.query('select from warehouse.customers where id = $1', [gone])).rows.length > 0;
      let syncs = 0;
      for (; syncs < 6 && (await isStored()); syncs++) {
        await clock.advance(13 * HOUR);
        await serveOrders(engine, 'sync');
      }
      expect(syncs).toBe(3);
      expect(await differences(database, sandbox, 5, ['customers'])).toEqual([]);
      const { rows } = await database.query(
        "select trait, evidence from sluice.traits where trait like 'address%' order by trait",
      );
      expect(rows).toEqual([
        { trait: 'address', evidence: expect.stringContaining('got it for a day') as string },
        {
          trait: 'address shown',
          evidence: `asked for row ${gone}, which the list lacked again, got it`,
        },
      ]);
    });
  },
);

test('a mark of deletion is a field of that name with a value', () => {
  const marked = [{ deleted_at: '2026-01-01' }, { is_deleted: 1 }, { deleted: true }, { trashed: '1' }];
  for (const record of marked)
    expect(deletionMark({ id: 7, ...record })).toBe(`the row with "${Object.keys(record)[0]}"`);
  const unmarked = [{ deleted_at: null }, { is_deleted: 0 }, { deleted: 'false' }, { undeleted_rows: 3 }, {}];
  for (const record of unmarked) expect(deletionMark({ id: 7, ...record })).toBe(null);
});
