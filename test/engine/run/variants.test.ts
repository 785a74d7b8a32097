import { expect, test } from 'vitest';
import { parseVariants } from '../../../sandbox/parse/parse-variants.ts';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { some } from '../../support/long.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

/** Each value meets some others; what is known to disturb each other stands together. */
const VARIANTS = [
  'paging=meta,past-end=404,limit-max=1000',
  'paging=meta,past-end=last-page,limit-max=100-reject',
  'paging=whole,date-to=exclusive',
  'paging=whole,order=shuffled',
  'paging=no-meta,limit-max=20-reject',
  'paging=capped',
  'paging=ignored,fault=drop',
  'order=id-asc,limit-max=ignored',
  'order=updated-desc,fault=cut-json',
  'order=date-desc,undated=yes',
  'order=shuffled,digits=beyond',
  'date-filter=ignored,order=id-asc',
  'date-filter=pair-only,numbers=strings,timestamps=micros,none=empty,extra-fields=yes',
  'numbers=mixed,timestamps=zoneless,none=zero-date,states=more',
  'invoice-fields=bare,transaction-ids=no',
  'invoice-fields=bare,order=id-asc',
  'invoice-fields=bare,order=shuffled',
  'invoice-fields=bare,order=date-desc',
  'invoice-fields=bare,paging=capped,cap=100',
  'transaction-ids=no,paging=no-meta',
];

/** Several pages of each list. A list that the source caps must have more rows than the cap. */
const SIZE = { customers: 105, invoices: 150, transactions: 220 };

test.each(some(VARIANTS, 4))(
  '%s: rows are equal after a sync, 60 changes of every kind and another sync, and verify finds no difference',
  async text => {
    const size = text === 'paging=capped' ? 'small' : SIZE;
    const sandbox = await openSandbox({ size, rateLimit: 0, variants: parseVariants(text) });
    try {
      await withDatabase(async database => {
        const engine = await openEngine(database, sandbox, { limit: 100_000 });
        const states = async (kind: 'sync' | 'verify') =>
          (await serveOrders(engine, kind)).map(order => order.reason ?? order.state);
        expect(await states('sync')).toEqual(['done', 'done', 'done']);
        expect(await differences(database, sandbox)).toEqual([]);

        sandbox.changeRandom(60);
        expect(await states('sync')).toEqual(['done', 'done', 'done']);
        expect(await differences(database, sandbox)).toEqual([]);

        for (const order of await serveOrders(engine, 'verify')) {
          expect(order).toMatchObject({
            state: 'done',
            report: { absent: [], different: [], extra: [], unproven: [] },
          });
        }
        await engine.close();
      });
    } finally {
      await sandbox.close();
    }
  },
);

test('a last page that is full, and that the source shows again behind the end, brings no row a second time', async () => {
  const variants = parseVariants('past-end=last-page,transaction-ids=no');
  const sandbox = await openSandbox({ size: { ...SIZE, transactions: 50 }, rateLimit: 0, variants });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { pageSize: 50, resources: ['transactions'] });
    expect(await serveOrders(engine, 'sync')).toMatchObject([{ state: 'done' }]);
    expect(await differences(database, sandbox, 5, ['transactions'])).toEqual([]);
    await engine.close();
  });
  await sandbox.close();
});
