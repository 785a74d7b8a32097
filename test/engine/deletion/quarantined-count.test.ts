import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

test('where a deletion needs the count of the list, a record in quarantine is one of the rows that it counts', async () => {
  const variants = { 'invoice-fields': 'bare', filters: 'ignored', order: 'shuffled' } as const;
  const sandbox = await openSandbox({ size: { customers: 10, invoices: 60, transactions: 5 }, rateLimit: 0, variants });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 10_000, resources: ['invoices'] });
    const [bad, deleted] = [...sandbox.rows('invoices')].slice(20).map(({ id }) => id) as [number, number];
    sandbox.update('invoices', bad, { amount: '1e1001' });
    const sync = async () => (await serveOrders(engine, 'sync', { whole: true })).map(({ state }) => state);
    expect(await sync()).toEqual(['done']);
    sandbox.remove('invoices', deleted);
    for (let times = 0; times < 3; times++) expect(await sync()).toEqual(['done']);
    expect(await differences(database, sandbox, 5, ['invoices'])).toEqual([`invoices ${bad} is absent`]);
    await engine.close();
  });
  await sandbox.close();
});
