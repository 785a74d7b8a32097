import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { commit } from '../../../src/engine/apply/commit.ts';
import type { Step } from '../../../src/engine/read/step.ts';
import type { Resource } from '../../../src/engine/resource.ts';
import { createTask } from '../../../src/engine/task/task.ts';
import { startRun } from '../../../src/warehouse/ledgers/runs.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

test('a row that one answer denies and another of the same commit shows is not deleted', async () => {
  await withDatabase(async database => {
    const sandbox = await openSandbox({ size: { customers: 5, invoices: 5, transactions: 5 } });
    const engine = await openEngine(database, sandbox, { resources: ['customers'] });
    await serveOrders(engine, 'sync');
    const [resource] = engine.resources as [Resource];
    const { rows } = await database.query<{ id: number; account: string }>(
      'select id::int, account from warehouse.customers order by id',
    );
    const run = { source: 'main', resource: 'customers', kind: 'sync', orderId: null, slotAt: null };
    const runId = await startRun(database.kysely, run);
    const task = createTask({ kind: 'sync', resource, runId, orderId: null, since: 0, lane: 'live' });
    const at = new Date().toISOString();
    const common = { resource, task, bad: [], requests: 1, release: () => undefined };
    const denies = (key: string): Step => ({
      ...{ ...common, slice: { by: 'one', key }, rows: [], end: { kind: 'gone', key, at } },
    });
    const [first, second] = rows.map(({ id }) => String(id)) as [string, string];
    const shown = resource.parse({ ...rows[0] }, at);
    const shows: Step = { ...common, slice: { by: 'newest' }, rows: 'row' in shown ? [shown.row] : [] };
    await commit(engine, [denies(first), denies(second), shows], { rowByRow: false });
    const left = await database.query<{ id: string }>('select id::text from warehouse.customers');
    const ids = left.rows.map(({ id }) => id);
    expect([ids.length, ids.includes(first), ids.includes(second)]).toEqual([rows.length - 1, true, false]);
    await engine.close();
    await sandbox.close();
  });
});
