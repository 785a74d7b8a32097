import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

test.each(['invoices', 'transactions'] as const)(
  '%s: an unknown field that is another in each answer makes no versions and no changes, and is stored with real ones',
  async resource => {
    await withDatabase(async database => {
      let answers = 0;
      const sandbox = await openSandbox({
        size: { customers: 20, invoices: 120, transactions: 120 },
        rateLimit: 0,
        addFields: (_, { id }, row) => ({ ...row, pdf_url: `/files/${id}?token=${answers++}`, colour: 'red' }),
      });
      const engine = await openEngine(database, sandbox, { limit: 100_000, resources: [resource] });
      const versions = async () => (await database.query('select from warehouse.row_history')).rows.length;
      await serveOrders(engine, 'sync', { whole: true });
      await serveOrders(engine, 'sync', { whole: true });
      const before = await versions();
      for (let times = 0; times < 2; times++) {
        const [order] = await serveOrders(engine, 'sync', { whole: true });
        expect(order?.state).toBe('done');
      }
      expect(await versions()).toBe(before);
      const [report] = await serveOrders(engine, 'verify');
      expect(report?.report).toMatchObject({ absent: [], different: [], extra: [] });

      const [row] = [...sandbox.rows(resource)];
      sandbox.update(resource, row?.id as number, { amount: '77.70' } as never);
      await serveOrders(engine, 'sync', { whole: true });
      expect(await versions()).toBe(before + 1);
      const { rows } = await database.query<{ amount: string; colour: string; url: string }>(
        `select amount::text, _extra->>'colour' as colour, _extra->>'pdf_url' as url from warehouse.${resource} where id = $1`,
        [row?.id],
      );
      expect(rows).toEqual([{ amount: '77.7', colour: 'red', url: expect.stringContaining('/files/') }]);
      // A row that comes back with another value there is the one that was deleted.
      const gone = [...sandbox.rows(resource)][5]?.id as number;
      sandbox.remove(resource, gone);
      const isStored = async () =>
        (await database.query(`select from warehouse.${resource} where id = $1`, [gone])).rows.length === 1;
      for (let times = 0; times < 4 && (await isStored()); times++) await serveOrders(engine, 'sync', { whole: true });
      expect(await isStored()).toBe(false);
      sandbox.restore(resource, gone);
      await serveOrders(engine, 'sync', { whole: true });
      expect(await isStored()).toBe(true);
      const { rows: deleted } = await database.query(
        "select key from warehouse.row_history where ended_by = 'deleted'",
      );
      expect(deleted).toEqual([]);
      const { rows: traits } = await database.query("select value from sluice.traits where trait = 'volatile'");
      expect(traits).toEqual([{ value: '{"fields":["pdf_url"],"suspects":{}}' }]);
      await engine.close();
      await sandbox.close();
    });
  },
);
