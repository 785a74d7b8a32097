import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts';
import { withDatabase } from '../../support/database.ts';
import type { TestResource } from '../../support/resources.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

const text = readFileSync(new URL('../../../docs/coverage.md', import.meta.url), 'utf8');
const queries = [...text.matchAll(/```sql\n([\s\S]*?)```/g)].map(match => match[1] as string);
const [all, invoices, customers, unproven, ends, leftBehind, cleaned] = queries as [
  string,
  string,
  string,
  string,
  string,
  string,
  string,
];

async function withSynced(
  sandbox: Sandbox,
  resources: TestResource[],
  look: (ask: (query: string) => Promise<unknown[]>, states: string[]) => Promise<void>,
): Promise<void> {
  try {
    await withDatabase(async database => {
      const engine = await openEngine(database, sandbox, { limit: 100_000, resources });
      const states = (await serveOrders(engine, 'sync')).map(order => order.state);
      await look(async query => (await database.query(query)).rows, states);
      await engine.close();
    });
  } finally {
    await sandbox.close();
  }
}

const complete = { complete: true, as_of: expect.stringMatching(/^20/) as string };

test.each(['full', 'bare'] as const)(
  'docs/coverage.md, invoices with %s fields: a synced month is complete in every list',
  async fields => {
    const sandbox = await openSandbox({ rateLimit: 0, variants: { 'invoice-fields': fields } });
    await withSynced(sandbox, ['customers', 'invoices', 'transactions'], async (ask, states) => {
      expect(states).toEqual(['done', 'done', 'done']);
      const lists = ['customers', 'invoices', 'transactions'];
      expect(await ask(all)).toEqual(lists.map(resource => ({ resource, ...complete })));
      expect(await ask(customers)).toEqual([complete]);
      // Without dates the list is split by ids and has no date slices.
      expect(await ask(invoices)).toEqual([fields === 'bare' ? { complete: null, as_of: null } : complete]);
      expect(await ask(`select distinct verdict from (${ends}) t`)).toEqual(
        fields === 'bare' ? [{ verdict: 'agreed' }] : [],
      );
      for (const query of [unproven, leftBehind]) expect(await ask(query)).toEqual([]);
      // The command line resolves table names in the warehouse schema.
      expect(await ask(cleaned.replace('from customers', 'from warehouse.customers'))).toEqual([]);
    });
  },
);

test('docs/coverage.md: a day that a capped source cannot show in full is reported, and its month is incomplete', async () => {
  const sandbox = await openSandbox({ rateLimit: 0, variants: { paging: 'capped', cap: '100', 'limit-max': '1000' } });
  const like = [...sandbox.rows('transactions')][0];
  if (!like) throw new Error('no transactions');
  for (let amount = 1; amount <= 130; amount++) sandbox.insert('transactions', { ...like, amount, date: '2025-03-10' });
  await withSynced(sandbox, ['transactions'], async (ask, states) => {
    expect(states).toEqual(['failed']);
    expect(await ask(all)).toMatchObject([{ resource: 'transactions', complete: false }]);
    const months = (month: string) =>
      all.replaceAll('2025-03-31', `2025-${month}-28`).replaceAll('2025-03', `2025-${month}`);
    expect(await ask(months('02'))).toEqual([{ resource: 'transactions', ...complete }]);
    expect(await ask(unproven)).toEqual([
      { slice: 'date 2025-03-10..2025-03-10', due_reason: expect.stringContaining('exactly 100 rows') },
    ]);
  });
});
