import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { SECOND } from '../../../src/clock.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { some } from '../../support/long.ts';
import { openEngine, serveOrders, serveTick } from '../../support/source.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

test.each(some(['honoured', 'ignored'] as const, 1))(
  'a row that is given a much older date is not deleted from a list ordered by date that looks ordered by id (date-filter=%s)',
  async filter => {
    await withDatabase(async database => {
      const clock = await createVirtualClock(database);
      const sandbox = await openSandbox({
        size: { customers: 20, invoices: 20, transactions: 400 },
        rateLimit: 0,
        clock,
        variants: { order: 'date-desc', backdated: 'none', 'date-filter': filter },
      });
      const engine = await openEngine(database, sandbox, {
        clock,
        limit: 100_000,
        resources: ['transactions'],
        pageSize: 20,
      });
      for (let round = 0; round < 2; round++) await serveOrders(engine, 'sync', { whole: true });
      const dated = [...sandbox.rows('transactions')].map(({ id, date }) => ({ id, date: String(date) }));
      const [edited, moved, oldest] = [dated.at(-30), dated.at(-10), dated[40]];
      await clock.advance(SECOND);
      sandbox.update('transactions', edited?.id ?? 0, { amount: 7 });
      await serveOrders(engine, 'sync', { whole: true });
      const { rows: traits } = await database.query(
        "select trait, value from sluice.traits where trait in ('order', 'edits') order by trait",
      );
      expect(traits).toEqual([
        { trait: 'edits', value: 'in place' },
        { trait: 'order', value: 'id-desc' },
      ]);

      await clock.advance(SECOND);
      sandbox.update('transactions', moved?.id ?? 0, { date: oldest?.date as string });
      // Its former window, or range of ids, is read before the one that it has moved to.
      if (filter === 'honoured')
        await serveOrders(engine, 'backfill', { dateFrom: String(edited?.date), dateTo: String(dated.at(-1)?.date) });
      else await serveTick(engine, 2);
      const { rows: history } = await database.query(
        "select key from warehouse.row_history where ended_by = 'deleted'",
      );
      expect(history).toEqual([]);
      await serveOrders(engine, 'sync', { whole: true });
      expect(await differences(database, sandbox, 5, ['transactions'])).toEqual([]);
      await engine.close();
      await sandbox.close();
    });
  },
);
