import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { createCommitter } from '../../../src/engine/apply/committer.ts';
import type { Step } from '../../../src/engine/read/step.ts';
import type { Resource } from '../../../src/engine/resource.ts';
import { createTask } from '../../../src/engine/task/task.ts';
import { startRun } from '../../../src/warehouse/ledgers/runs.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

test('a step that is lost loses the rest of its reading, and nothing of other readings and lists', async () => {
  await withDatabase(async database => {
    const sandbox = await openSandbox({ size: { customers: 5, invoices: 5, transactions: 5 } });
    const engine = await openEngine(database, sandbox, { resources: ['customers', 'invoices'] });
    await serveOrders(engine, 'sync');
    await database.query(`create function public.refuse() returns trigger language plpgsql as $$ begin
      raise exception 'no'; end $$`);
    await database.query(`create trigger refuse before insert on warehouse.customers for each row
      when (new.id = 1001) execute function public.refuse()`);
    const committer = createCommitter({ ...engine, onCommitted: () => undefined });
    const [customers, invoices] = engine.resources as [Resource, Resource];
    const stepOf = async (resource: Resource, id: number): Promise<Step> => {
      const run = { source: 'main', resource: resource.name, kind: 'sync', orderId: null, slotAt: null };
      const runId = await startRun(database.kysely, run);
      const task = createTask({ kind: 'sync', resource, runId, orderId: null, since: 0, lane: 'live' });
      const parsed = resource.parse({ id, account: 'a', invoice_number: 'b' }, new Date().toISOString());
      const rows = 'row' in parsed ? [parsed.row] : [];
      return { resource, task, slice: { by: 'newest' }, rows, bad: [], requests: 1, release: () => undefined };
    };
    const [lost, other] = [{}, {}];
    const first = [await stepOf(customers, 1001), await stepOf(customers, 1002), await stepOf(invoices, 1003)];
    const ended = await Promise.allSettled(first.map((step, index) => committer.add(step, index === 2 ? other : lost)));
    // The first commit holds only the first step.
    expect(ended.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
    const together = await Promise.all([stepOf(customers, 1001), stepOf(invoices, 1004), stepOf(customers, 1005)]);
    const held = await stepOf(invoices, 1006);
    const [a, b] = [{}, {}];
    const both = await Promise.allSettled([
      committer.add(held, other),
      ...together.map((step, index) => committer.add(step, index === 1 ? b : a)),
    ]);
    expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected']);
    await expect(committer.add(await stepOf(customers, 1007), a)).rejects.toThrow('no');
    await committer.add(await stepOf(customers, 1008), {});
    const { rows } = await database.query(
      `select id from warehouse.customers where id > 1000 union all select id from warehouse.invoices where id > 1000 order by 1`,
    );
    expect(rows.map(({ id }) => id)).toEqual(['1003', '1004', '1006', '1008']);
    await engine.close();
    await sandbox.close();
  });
});
