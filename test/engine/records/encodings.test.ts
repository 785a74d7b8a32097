import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { createLogLines } from '../../support/log-lines.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

test('a source in ISO-8859-1 is read exactly', async () => {
  await withDatabase(async database => {
    const sandbox = await openSandbox({ variants: { charset: 'latin1' } });
    const engine = await openEngine(database, sandbox);
    try {
      await serveOrders(engine, 'sync');
      expect(await differences(database, sandbox)).toEqual([]);
      const { rows } = await database.query('select sum(replaced)::int as replaced from sluice.runs');
      expect(rows).toEqual([{ replaced: 0 }]);
    } finally {
      await engine.close();
      await sandbox.close();
    }
  });
});

test('invalid bytes become U+FFFD, with a count on the run and a warning, until the source sends them well', async () => {
  await withDatabase(async database => {
    const sandbox = await openSandbox({ variants: { charset: 'broken' } });
    const { log, lines: warnings } = createLogLines('warn');
    const engine = await openEngine(database, sandbox, { resources: ['customers', 'invoices', 'orders'], log });
    const damaged = async (table: string) => {
      const { rows } = await database.query<{ count: number }>(
        `select count(*)::int as count from warehouse.${table} t where t::text like U&'%\\FFFD%'`,
      );
      return rows[0]?.count ?? 0;
    };
    const replaced = async () => {
      const { rows } = await database.query<{ replaced: number }>(
        'select coalesce(sum(replaced), 0)::int as replaced from sluice.runs',
      );
      return rows[0]?.replaced ?? 0;
    };
    try {
      // Honest: the source itself holds this character.
      sandbox.update('customers', 1, { account: 'Plain \ufffd', city: 'Bern', address: null, state: null });
      sandbox.update('customers', 2, { account: 'Zürich', city: 'Genève', address: null, state: null });
      await serveOrders(engine, 'sync');
      expect(await differences(database, sandbox, 5, ['customers', 'invoices', 'orders'])).toEqual([]);
      const { rows } = await database.query(
        'select account, city, _extra from warehouse.customers where id in (1, 2) order by id',
      );
      expect(rows).toEqual([
        { account: 'Plain \ufffd', city: 'Bern', _extra: null },
        { account: 'Z\ufffdrich', city: 'Gen\ufffdve', _extra: null },
      ]);
      expect(await damaged('customers')).toBeGreaterThan(10);
      // All but the row that the source itself holds so.
      expect(await replaced()).toBeGreaterThanOrEqual((await damaged('customers')) - 1);
      expect(warnings.filter(each => each.includes('bytes that are invalid in its encoding'))).not.toEqual([]);

      sandbox.setVariants({ charset: 'utf-8' });
      const before = await replaced();
      await serveOrders(engine, 'sync', { repair: true });
      expect(await differences(database, sandbox, 5, ['customers', 'invoices', 'orders'])).toEqual([]);
      expect([await damaged('customers'), await damaged('orders'), await replaced()]).toEqual([1, 0, before]);
    } finally {
      await engine.close();
      await sandbox.close();
    }
  });
});
