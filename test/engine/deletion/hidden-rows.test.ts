import { expect, test } from 'vitest';
import { parseVariants } from '../../../sandbox/parse/parse-variants.ts';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { openProxy } from '../../conformance/tests/proxy.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { some } from '../../support/long.ts';
import { oneGrantAtATime, openEngine, serveOrders } from '../../support/source.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const SIZE = { customers: 400, invoices: 20, transactions: 20 };

test.each(some(['id-desc', 'shuffled', 'id-asc', 'updated-desc'], 2))(
  'pages whose rows are taken out after they were cut are read to the last that the list is counted with (%s)',
  async order => {
    const variants = parseVariants(`pages=thinned,limit-max=ignored,order=${order}`);
    const sandbox = await openSandbox({ size: SIZE, rateLimit: 0, variants });
    await withDatabase(async database => {
      const clock = await createVirtualClock(database);
      const options = { clock, wrapBudget: oneGrantAtATime(clock), limit: 100_000, resources: ['customers'] as const };
      const engine = await openEngine(database, sandbox, options);
      const sync = async () => {
        await clock.advance(3_600_000);
        await serveOrders(engine, 'sync', { whole: true });
        const absent = await differences(database, sandbox, 1000, ['customers']);
        const { rows } = await database.query<{ complete: boolean }>(
          `select complete from sluice.complete('-infinity', 'infinity') where resource = 'customers'`,
        );
        if (absent.length > 0) expect(rows, absent[0]).toEqual([{ complete: false }]);
        return absent;
      };
      // Two tasks have to find the count wrong before a third believes the rows.
      for (let times = 0; times < 3; times++) await sync();
      expect(await sync()).toEqual([]);
      const [first, second] = Array.from(sandbox.rows('customers'), ({ id }) => id).filter(id => id > 200 && id < 225);
      sandbox.remove('customers', first as number);
      sandbox.remove('customers', second as number);
      for (let times = 0; times < 3; times++) await sync();
      expect(await sync()).toEqual([]);
      await engine.close();
    });
    await sandbox.close();
  },
);

const LOSSES = [
  ['one row', (rows: object[]) => rows.slice(1)],
  ['all of its rows', () => []],
  ['every second row', (rows: object[]) => rows.filter((_, index) => index % 2 === 1)],
] as const;

test.each(some(LOSSES, 2))(
  'a page that once came without %s does not change how a list with a wrong count is read',
  async (_what, lose) => {
    const variants = parseVariants('totals=doubled');
    const sandbox = await openSandbox({ size: SIZE, rateLimit: 0, variants });
    let loses: number | null = null;
    const url = await openProxy(sandbox, (answer, { path, query }) => {
      if (path !== '/api/v2/customers' || Number(query.get('page')) !== loses) return answer;
      loses = null;
      return { ...answer, body: { ...answer.body, data: lose(answer.body.data) } };
    });
    await withDatabase(async database => {
      const clock = await createVirtualClock(database);
      const options = { clock, wrapBudget: oneGrantAtATime(clock), limit: 100_000, resources: ['customers'] as const };
      const engine = await openEngine(database, { ...sandbox, url }, options);
      const sync = async () => {
        await clock.advance(3_600_000);
        await serveOrders(engine, 'sync', { whole: true });
      };
      for (let times = 0; times < 4; times++) await sync();
      for (const page of [1, 2, 3, 4, 5]) {
        loses = page;
        await sync();
        await sync();
      }
      const { rows } = await database.query(
        `select value from sluice.traits where trait in ('order', 'counts') order by 1`,
      );
      expect(rows).toEqual([{ value: 'id-desc' }, { value: 'unreliable' }]);
      expect(await differences(database, sandbox, 10, ['customers'])).toEqual([]);
      await engine.close();
    });
    await sandbox.close();
  },
);

test('customers that the list hides for some hours, while their addresses show them, are kept', async () => {
  const sandbox = await openSandbox({ size: SIZE, rateLimit: 0, variants: parseVariants('') });
  let hides = false;
  const url = await openProxy(sandbox, (answer, { path }) => {
    if (path !== '/api/v2/customers' || !hides) return answer;
    const data = answer.body.data.filter(({ id }: { id: number }) => id % 20 !== 4);
    return { ...answer, body: { ...answer.body, data, meta: { ...answer.body.meta, total_records: 380 } } };
  });
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const options = { clock, wrapBudget: oneGrantAtATime(clock), limit: 100_000, resources: ['customers'] as const };
    const engine = await openEngine(database, { ...sandbox, url }, options);
    const sync = async (hidden: boolean) => {
      hides = hidden;
      await clock.advance(3_600_000);
      const before = sandbox.stats.total;
      await serveOrders(engine, 'sync', { whole: true });
      return sandbox.stats.total - before;
    };
    const once = await sync(false);
    // Each night, the same rows.
    for (let night = 0; night < 3; night++) {
      console.log('REQ', night, once, await sync(true), await sync(true));

      await sync(false);
      expect(await differences(database, sandbox, 10, ['customers'])).toEqual([]);
      expect((await database.query('select from warehouse.row_history')).rows).toEqual([]);
      await clock.advance(22 * 3_600_000);
    }
    const [gone] = Array.from(sandbox.rows('customers'), ({ id }) => id).filter(id => id > 200);
    sandbox.remove('customers', gone as number);
    await sync(false);
    expect(await differences(database, sandbox, 10, ['customers'])).toEqual([]);
    await engine.close();
  });
  await sandbox.close();
});
