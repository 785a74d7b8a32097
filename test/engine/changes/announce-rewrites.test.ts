import { expect, test } from 'vitest';
import type { z } from 'zod';
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts';
import { DAY, HOUR } from '../../../src/clock.ts';
import { type Job, text, timestamp } from '../../../src/engine/job.ts';
import { declareTables } from '../../../src/engine/records/declare-table.ts';
import { undoRuns } from '../../../src/service/orders/undo.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { migrate } from '../../../src/warehouse/database/migrate.ts';
import { RETENTION } from '../../../src/warehouse/ledgers/retention.ts';
import { recogniseSource } from '../../../src/warehouse/ledgers/sources.ts';
import { openRewrites, settleRewrites } from '../../../src/warehouse/rows/rewrites.ts';
import { differences } from '../../support/compare.ts';
import { MIGRATIONS, withDatabase } from '../../support/database.ts';
import { JOBS } from '../../support/resources.ts';
import { openEngine, serveOrders } from '../../support/source.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const SIZE = { customers: 60, invoices: 200, transactions: 20 };

type Work = (parts: {
  readonly sandbox: Sandbox;
  readonly database: Database;
  readonly engine: Awaited<ReturnType<typeof openEngine>>;
  readonly sync: () => Promise<{ state: string; reason: string | null }>;
}) => Promise<void>;

async function withSource(work: Work): Promise<void> {
  const sandbox = await openSandbox({ size: SIZE, rateLimit: 0 });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['invoices'] });
    const sync = async () => {
      const [order] = await serveOrders(engine, 'sync', { whole: true });
      return { state: order?.state ?? '', reason: order?.reason ?? null };
    };
    await sync();
    await work({ sandbox, database, engine, sync });
    await engine.close();
  });
  await sandbox.close();
}

/** Gives so many invoices other values. */
function edit(sandbox: Sandbox, times: number, change: (row: Record<string, unknown>, index: number) => object): void {
  for (const [index, row] of [...sandbox.rows('invoices')].slice(0, times).entries())
    sandbox.update('invoices', row.id as number, change(row as Record<string, unknown>, index) as never);
}

const open = async (database: Database) =>
  (await openRewrites(database.kysely, 'main', ['invoices'])).map(({ field, rows, looks }) => ({ field, rows, looks }));

test('amounts in cents are announced once, in the run that brought them, with what they look like', async () => {
  await withSource(async ({ sandbox, database, sync }) => {
    edit(sandbox, 120, ({ amount }) => ({ amount: `${(Number(amount) * 100).toFixed(2)}` }));
    const { state, reason } = await sync();
    expect(state).toBe('failed');
    expect(reason).toMatch(
      /Within 24 hours, invoices\.amount was replaced in 120 of 200 rows\. They look like 100 times the value\. Examples: ".*" became ".*"/,
    );
    expect(reason).toMatch(/sluice accept invoices\.amount.* sluice undo \d+/);
    expect(await open(database)).toEqual([{ field: 'amount', rows: 120, looks: '100 times the value' }]);
    // What the source shows is stored: nobody is kept from what is right.
    expect(await differences(database, sandbox, 8, ['invoices'])).toEqual([]);
    expect(await sync()).toMatchObject({ state: 'done' });
  });
});

test('a rewrite ends by itself once the source shows the values again', async () => {
  await withSource(async ({ sandbox, database, sync }) => {
    const before = [...sandbox.rows('invoices')].map(({ id, status }) => ({ id, status }));
    edit(sandbox, 150, () => ({ status: 'Void' }));
    expect((await sync()).reason).toContain('one value for all: "Void"');
    for (const { id, status } of before) sandbox.update('invoices', id as number, { status } as never);
    expect(await sync()).toMatchObject({ state: 'done' });
    expect(await open(database)).toEqual([]);
  });
});

test('up to a quarter is what people do, and the same value replaced again counts once', async () => {
  await withSource(async ({ sandbox, database, sync }) => {
    for (let turn = 0; turn < 4; turn++) {
      edit(sandbox, 50, (_, index) => ({ notes: `Called ${turn} ${index}` }));
      expect(await sync()).toMatchObject({ state: 'done' });
    }
    expect(await open(database)).toEqual([]);
  });
});

test('lines of invoices count as one value, and fields that are new or emptied do not', async () => {
  await withSource(async ({ sandbox, database, sync }) => {
    edit(sandbox, 90, ({ items }) => ({
      items: (items as { amount: string }[]).map(item => ({ ...item, amount: '1.00' })),
    }));
    expect((await sync()).state).toBe('failed');
    expect(await open(database)).toMatchObject([{ field: 'items', rows: 90 }]);
  });
});

test('lines in another order are the same lines', async () => {
  await withSource(async ({ sandbox, database, sync }) => {
    edit(sandbox, 200, ({ items }) => ({ items: (items as unknown[]).toReversed() }));
    await sync();
    expect(await open(database)).toEqual([]);
  });
});

test('a field that is declared in another type is written otherwise by the next reading, which is no rewrite', async () => {
  const sandbox = await openSandbox({
    ...{ size: SIZE, rateLimit: 0 },
    addFields: (_list, _row, rendered) => ({ ...rendered, made_at: '2026-01-15 11:00:00' }),
  });
  await withDatabase(async database => {
    const syncAs = async (type: () => z.ZodType) => {
      const { invoices } = JOBS;
      const record = (invoices.record as z.ZodObject).extend({ made_at: type() });
      const job: Job = { ...invoices, record, listFile: 'lists/invoices.json', tolerated: ['made_at'] };
      await migrate({ database, ...MIGRATIONS, lists: declareTables([['invoices', job]]), putsBack: true });
      const engine = await openEngine(database, sandbox, { limit: 100_000, jobs: { invoices: job } });
      const [order] = await serveOrders(engine, 'sync', { whole: true });
      await engine.close();
      const { rows } = await database.query('select distinct made_at::text from warehouse.invoices');
      return [order?.state, rows];
    };
    expect(await syncAs(timestamp)).toEqual(['done', [{ made_at: '2026-01-15 11:00:00+00' }]]);
    expect(await syncAs(text)).toEqual(['done', [{ made_at: '2026-01-15 11:00:00' }]]);
    // Other fields count as ever.
    edit(sandbox, 120, ({ amount }) => ({ amount: `${(Number(amount) * 100).toFixed(2)}` }));
    expect((await syncAs(text))[0]).toBe('failed');
  });
  await sandbox.close();
});

test('a mask inside of lines takes the examples of their rewrite, which stays open', async () => {
  await withSource(async ({ sandbox, database, sync }) => {
    edit(sandbox, 120, ({ items }) => ({ items: (items as object[]).map(item => ({ ...item, qty: 99 })) }));
    await sync();
    const told = () => database.query('select field, rows::int, examples, ended_at from sluice.rewrites');
    expect((await told()).rows).toMatchObject([
      { field: 'items', examples: expect.arrayContaining([expect.anything()]) },
    ]);
    const { invoices } = JOBS;
    // What is masked is looked for by source.
    await recogniseSource(database.kysely, {
      ...{ source: 'main', url: sandbox.url, schema: 'warehouse' },
      ...{ currency: null, moved: false },
    });
    const job: Job = { ...invoices, masks: { 'items.description': { rule: 'never' } } };
    await migrate({ database, ...MIGRATIONS, lists: declareTables([['invoices', job]]) });
    expect((await told()).rows).toEqual([{ field: 'items', rows: 120, examples: [], ended_at: null }]);
  });
});

test('what somebody accepted is counted anew, and is not told again', async () => {
  await withSource(async ({ sandbox, database, sync }) => {
    edit(sandbox, 80, (_, index) => ({ status: `Stage ${index % 7}` }));
    expect((await sync()).state).toBe('failed');
    await settleRewrites(database.kysely, { source: 'main', resource: 'invoices' }, ['status'], 'accepted');
    edit(sandbox, 40, (_, index) => ({ status: `Step ${index % 7}` }));
    expect(await sync()).toMatchObject({ state: 'done' });
    edit(sandbox, 90, (_, index) => ({ status: `Round ${index % 7}` }));
    expect((await sync()).state).toBe('failed');
    expect(await open(database)).toMatchObject([{ field: 'status', rows: 90 }]);
  });
});

test('a run is undone without a request, and the undo too; what has changed since stays', async () => {
  await withSource(async ({ sandbox, database, engine, sync }) => {
    const stored = async () =>
      (await database.query('select id, amount, status, _extra, _hash from warehouse.invoices order by id')).rows;
    const lines = async () =>
      (await database.query('select * from warehouse.invoice_items order by invoice_id, line')).rows;
    const before = { rows: await stored(), lines: await lines() };
    const rows = [...sandbox.rows('invoices')];
    const original = rows.map(({ id, amount, items }) => ({ id, amount, items }));
    edit(sandbox, 100, ({ items }) => ({ amount: '0.00', items: (items as unknown[]).slice(0, 1) }));
    await sync();
    // Somebody rounds the lines: of some, only the decimals of a number differ.
    await database.query(`update warehouse.invoice_items set amount = round(amount, 4)
      where invoice_id in (select key::bigint from warehouse.row_history)`);
    const bad = { rows: await stored(), lines: await lines() };
    const [rewrite] = await openRewrites(database.kysely, 'main', ['invoices']);
    const source = {
      name: 'main',
      schema: 'warehouse',
      jobs: new Map(engine.resources.map(({ name, job }) => [name, job])),
    };
    const requests = sandbox.stats.total;

    const dry = await undoRuns(database, source, rewrite?.runIds ?? [], { dryRun: true });
    expect(dry).toMatchObject([
      { resource: 'invoices', replaced: 100, deleted: 0, changedSince: 0, undoRun: null, due: 0 },
    ]);
    expect(await stored()).toEqual(bad.rows);
    const [undone] = await undoRuns(database, source, rewrite?.runIds ?? [], { dryRun: false });
    expect(undone).toMatchObject({ replaced: 100, changedSince: 0 });
    expect(undone?.due).toBeGreaterThan(0);
    expect({ rows: await stored(), lines: await lines() }).toEqual(before);
    expect(sandbox.stats.total).toBe(requests);
    expect(await open(database)).toEqual([]);

    await undoRuns(database, source, [undone?.undoRun ?? ''], { dryRun: false });
    expect({ rows: await stored(), lines: await lines() }).toEqual(bad);
    // The source is sound again, but for one row that somebody edits.
    for (const { id, ...values } of original) sandbox.update('invoices', id as number, values as never);
    sandbox.update('invoices', rows[3]?.id as number, { amount: '77.00' } as never);
    await sync();
    const [late] = await undoRuns(database, source, rewrite?.runIds ?? [], { dryRun: true });
    expect(late).toMatchObject({ replaced: 0, changedSince: 100 });
    expect(await differences(database, sandbox, 8, ['invoices'])).toEqual([]);
  });
});

test('deleted rows come back with an undo, and what the source shows decides in the end', async () => {
  await withSource(async ({ sandbox, database, engine, sync }) => {
    const gone = [...sandbox.rows('invoices')].slice(0, 12).map(({ id }) => id as number);
    const count = async () =>
      (await database.query<{ n: number }>('select count(*)::int as n from warehouse.invoices')).rows[0]?.n;
    for (const id of gone) sandbox.remove('invoices', id);
    for (let turn = 0; turn < 4 && (await count()) !== 188; turn++) await sync();
    expect(await count()).toBe(188);
    const { rows } = await database.query<{ id: string }>(
      "select distinct run_id::text as id from warehouse.row_history where ended_by = 'deleted'",
    );
    const source = {
      name: 'main',
      schema: 'warehouse',
      jobs: new Map(engine.resources.map(({ name, job }) => [name, job])),
    };
    const ids = rows.map(({ id }) => id);
    const [undone] = await undoRuns(database, source, ids, { dryRun: false });
    expect(undone).toMatchObject({ deleted: 12, changedSince: 0 });
    expect(await count()).toBe(200);
    for (let turn = 0; turn < 4 && (await count()) !== 188; turn++) await sync();
    expect(await differences(database, sandbox, 8, ['invoices'])).toEqual([]);
  });
});

test.each([
  { kept: 'by default', retention: RETENTION },
  { kept: 'as short as the settings allow', retention: { ...RETENTION, runs: 1, history: 2 } },
])(
  'as long as a rewrite is open, an undo restores what was there before the first of its runs, with history kept $kept',
  async ({ retention }) => {
    await withDatabase(async database => {
      const clock = await createVirtualClock(database);
      const sandbox = await openSandbox({ clock, size: SIZE, rateLimit: 0 });
      const opened = await openEngine(database, sandbox, { clock, limit: 100_000, resources: ['invoices'] });
      const engine = { ...opened, retention };
      const sync = async () => (await serveOrders(engine, 'sync', { whole: true }))[0]?.state;
      const stored = async () => (await database.query('select id, status from warehouse.invoices order by id')).rows;
      await sync();
      const before = await stored();
      await clock.advance(HOUR);
      edit(sandbox, 40, (_, index) => ({ status: `First ${index % 7}` }));
      expect(await sync()).toBe('done');
      await clock.advance(23 * HOUR);
      edit(sandbox, 90, (_, index) => ({ status: `Second ${index % 7}` }));
      expect(await sync()).toBe('failed');
      await clock.advance(7 * DAY - 13 * HOUR);
      expect(await sync()).toBe('done');
      const [rewrite] = await openRewrites(database.kysely, 'main', ['invoices']);
      expect(rewrite).toMatchObject({ field: 'status', rows: 90, runIds: [expect.any(String), expect.any(String)] });
      const source = {
        name: 'main',
        schema: 'warehouse',
        jobs: new Map(engine.resources.map(({ name, job }) => [name, job])),
      };
      await undoRuns(database, source, rewrite?.runIds ?? [], { dryRun: false });
      expect(await stored()).toEqual(before);
      await opened.close();
      await sandbox.close();
    });
  },
);

test('an undo leaves lines alone that the versions do not know yet', async () => {
  await withSource(async ({ sandbox, database, engine, sync }) => {
    const stored = async () => ({
      notes: (await database.query('select notes from warehouse.invoices order by id')).rows,
      lines: (await database.query('select * from warehouse.invoice_items order by invoice_id, line')).rows,
    });
    const { notes, lines } = await stored();
    edit(sandbox, 5, () => ({ notes: 'wrong' }));
    await sync();
    // Kept before the job had the field.
    await database.query(`update warehouse.row_history set row = row - 'items'`);
    const { rows } = await database.query<{ id: string }>('select max(id)::text as id from sluice.runs');
    const source = {
      name: 'main',
      schema: 'warehouse',
      jobs: new Map(engine.resources.map(({ name, job }) => [name, job])),
    };
    expect(await undoRuns(database, source, [rows[0]?.id ?? ''], { dryRun: false })).toMatchObject([{ replaced: 5 }]);
    expect(await stored()).toEqual({ notes, lines });
  });
});

test('an undo of what nobody knows says so', async () => {
  await withSource(async ({ database, engine }) => {
    const source = {
      name: 'main',
      schema: 'warehouse',
      jobs: new Map(engine.resources.map(({ name, job }) => [name, job])),
    };
    await expect(undoRuns(database, source, ['999999'], { dryRun: true })).rejects.toThrow('main has no run 999999');
    const { rows } = await database.query<{ id: string }>('select min(id)::text as id from sluice.runs');
    await expect(undoRuns(database, source, [rows[0]?.id ?? ''], { dryRun: false })).rejects.toThrow(
      `Nothing is kept that run ${rows[0]?.id} replaced or deleted.`,
    );
  });
});
