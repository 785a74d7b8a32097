import { expect, test } from 'vitest';
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts';
import { commit } from '../../../src/engine/apply/commit.ts';
import type { Step } from '../../../src/engine/read/step.ts';
import { placeOf, type Resource } from '../../../src/engine/resource.ts';
import type { Entry } from '../../../src/engine/slices/coverage-entry.ts';
import { parseSlice } from '../../../src/engine/slices/slice.ts';
import { createTask } from '../../../src/engine/task/task.ts';
import { undoRuns } from '../../../src/service/orders/undo.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { writeCoverage } from '../../../src/warehouse/ledgers/coverage.ts';
import { lockCursor } from '../../../src/warehouse/ledgers/cursors.ts';
import { startRun } from '../../../src/warehouse/ledgers/runs.ts';
import { until } from '../../cli/run-command.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';
import { untilBlocked } from '../../support/until-blocked.ts';

const LISTS = ['customers', 'invoices'] as const;

interface Parts {
  readonly database: Database;
  readonly engine: Awaited<ReturnType<typeof openEngine>>;
  /** Undoes the run of each list that brought its edits. */
  readonly undo: () => ReturnType<typeof undoRuns>;
  /** Resolves once the undo waits for a lock. */
  readonly undoWaits: () => Promise<unknown>;
  readonly lists: readonly [customers: Resource, invoices: Resource];
}

/** Two lists whose last runs replaced two rows each. */
async function withEdits(work: (parts: Parts) => Promise<void>): Promise<void> {
  const sandbox: Sandbox = await openSandbox({ size: { customers: 20, invoices: 20, transactions: 5 } });
  await withDatabase(
    async (database, test) => {
      const engine = await openEngine(database, sandbox, { resources: LISTS });
      await serveOrders(engine, 'sync');
      for (const { id } of [...sandbox.rows('customers')].slice(0, 2)) sandbox.update('customers', id, { phone: '1' });
      for (const { id } of [...sandbox.rows('invoices')].slice(0, 2)) sandbox.update('invoices', id, { notes: 'new' });
      await serveOrders(engine, 'sync', { whole: true });
      const { rows } = await database.query<{ id: string }>(
        'select id from sluice.runs where updated > 0 order by resource',
      );
      const ids = rows.map(({ id }) => id);
      const source = {
        name: 'main',
        schema: 'warehouse',
        jobs: new Map(engine.resources.map(({ name, job }) => [name, job])),
      };
      const undoing = await test.open('undoing');
      const undoWaits = () => untilBlocked(database, 'undoing');
      const undo = () => undoRuns(undoing, source, ids, { dryRun: false });
      await work({ database, engine, undo, undoWaits, lists: engine.resources as unknown as Parts['lists'] });
      await undoing.close();
      await engine.close();
    },
    { connections: 4 },
  );
  await sandbox.close();
}

const restored = LISTS.map(resource => ({ resource, replaced: 2 }));

test('an undo waits for a reader that changes coverage, and neither fails', async () => {
  await withEdits(async ({ database, undo, undoWaits, lists: [, list] }) => {
    const entries = [...list.entries.values()];
    const { undone } = await database.transaction(async tx => {
      await lockCursor(tx, placeOf(list), list.cursor);
      const undone = undo();
      await undoWaits();
      await writeCoverage(tx, placeOf(list), [], entries);
      return { undone };
    });
    expect(await undone).toMatchObject(restored);
  });
});

test('an undo that waited for a reader makes the slices due that it has cut meanwhile', async () => {
  await withEdits(async ({ database, undo, undoWaits, lists: [list] }) => {
    const [entry] = [...list.entries.values()].filter(({ slice }) => slice.by === 'id');
    const { undone } = await database.transaction(async tx => {
      await lockCursor(tx, placeOf(list), list.cursor);
      const undone = undo();
      await undoWaits();
      const parts = ['id ..10', 'id 11..'].map(text => ({ ...(entry as Entry), slice: parseSlice(text) }));
      await writeCoverage(tx, placeOf(list), [parseSlice('id ..')], parts);
      return { undone };
    });
    const [customers] = await undone;
    expect(customers?.due).toBeGreaterThan(0);
  });
});

test('an undo of several lists waits for a commit that showed rows of only one of them, and neither fails', async () => {
  await withEdits(async ({ database, undo, undoWaits, lists }) => {
    const { undone } = await database.transaction(async tx => {
      await tx.query('update warehouse.invoices set notes = notes where id < 0');
      const undone = undo();
      await undoWaits();
      for (const list of lists) await lockCursor(tx, placeOf(list), list.cursor);
      return { undone };
    });
    expect(await undone).toMatchObject(restored);
  });
});

test('an undo of several lists waits for a commit of their rows, in whatever order they were read, and neither fails', async () => {
  await withEdits(async ({ database, engine, undo, undoWaits, lists }) => {
    await database.query(`create function public.hold() returns trigger language plpgsql as $$ begin
      perform pg_advisory_xact_lock(7); return new; end $$`);
    await database.query(`create trigger hold before insert on warehouse.invoices for each row
      when (new.id = 1001) execute function public.hold()`);
    const steps: Step[] = [];
    for (const resource of [...lists].reverse()) {
      const run = { source: 'main', resource: resource.name, kind: 'sync', orderId: null, slotAt: null };
      const runId = await startRun(database.kysely, run);
      const task = createTask({ kind: 'sync', resource, runId, orderId: null, since: 0, lane: 'live' });
      const parsed = resource.parse({ id: 1001, account: 'a', invoice_number: 'b' }, new Date().toISOString());
      const rows = 'row' in parsed ? [parsed.row] : [];
      steps.push({ resource, task, slice: { by: 'newest' }, rows, bad: [], requests: 1, release: () => undefined });
    }
    const { committed, undone } = await database.transaction(async tx => {
      await tx.query('select pg_advisory_xact_lock(7)');
      const committed = commit(engine, steps, { rowByRow: false });
      await until(async () => {
        const { rows } = await database.query(`select from pg_locks where locktype = 'advisory' and not granted
          and database = (select oid from pg_database where datname = current_database())`);
        return rows.length > 0;
      });
      const undone = undo();
      await undoWaits();
      return { committed, undone };
    });
    expect(await Promise.allSettled([committed, undone])).toMatchObject([
      { status: 'fulfilled' },
      { status: 'fulfilled', value: restored },
    ]);
  });
});

test('a reading that an undo interrupted begins anew, so that what it showed before is compared with what was restored', async () => {
  await withEdits(async ({ database, undo, lists: [customers] }) => {
    const half = { id: { startedAt: new Date().toISOString(), seen: 1 } };
    await database.query(`update sluice.cursors set readings = $1 where resource = 'customers'`, [half]);
    await database.query(
      `insert into sluice.seen_keys (source, resource, slice, at, keys)
       select source, resource, 'id ..', 0, '{}' from sluice.cursors where resource = 'customers'`,
    );
    expect(await undo()).toMatchObject(restored);
    const { rows } = await database.query(
      `select readings, (select count(*)::int from sluice.seen_keys where resource = $1) as seen from sluice.cursors where resource = $1`,
      [customers.name],
    );
    expect(rows).toEqual([{ readings: {}, seen: 0 }]);
  });
});

test('an undo holds no values of what it restored', async () => {
  await withEdits(async ({ database, undo }) => {
    await database.query(
      `insert into sluice.held (source, resource, field, key, since) select 'main', 'customers', 'phone', id::text, sluice.now() from warehouse.customers`,
    );
    expect(await undo()).toMatchObject(restored);
    const { rows } = await database.query(
      `select (select count(*)::int from warehouse.customers) - count(*)::int as released,
        (select count(*)::int from sluice.held h where h.key in (select key from warehouse.row_history)) as kept from sluice.held`,
    );
    expect(rows).toEqual([{ released: 2, kept: 0 }]);
  });
});
