import { sql } from 'kysely';
import { expect, test, vi } from 'vitest';
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts';
import { stampMs } from '../../../src/clock.ts';
import { declareTable } from '../../../src/engine/records/declare-table.ts';
import { undoRuns } from '../../../src/service/orders/undo.ts';
import type { Database, Transaction } from '../../../src/warehouse/database/database.ts';
import { eraseRow } from '../../../src/warehouse/erasure/erase-row.ts';
import { forgetOldWork, RETENTION } from '../../../src/warehouse/ledgers/retention.ts';
import { deleteRows } from '../../../src/warehouse/rows/delete-rows.ts';
import { emptyHeld } from '../../../src/warehouse/rows/held-values.ts';
import { tableIn } from '../../../src/warehouse/rows/tables.ts';
import { withDatabase } from '../../support/database.ts';
import { type Logged, replayLog, storedRows } from '../../support/replay-log.ts';
import { JOBS, MAIN } from '../../support/resources.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

type Parts = {
  readonly sandbox: Sandbox;
  readonly database: Database;
  readonly sync: () => Promise<void>;
  /** What was logged since the last look. */
  readonly logged: () => Promise<Logged[]>;
};

/** Some tests hold a transaction open while two others wait for it. */
const SEVERAL = { connections: 4 };

async function withLists(work: (parts: Parts) => Promise<void>): Promise<void> {
  await withDatabase(async database => {
    const sandbox = await openSandbox({ size: { customers: 40, invoices: 120, transactions: 150 }, rateLimit: 0 });
    const engine = await openEngine(database, sandbox, { limit: 100_000 });
    const sync = async () => void (await serveOrders(engine, 'sync', { whole: true }));
    let last = 0;
    const logged = async () => {
      const { rows } = await database.query<Logged>(
        `select number::int, resource, key, kind, before, after, earliest, seen_at from warehouse.changes where number > ${last} order by number`,
      );
      last = Math.max(last, ...rows.map(({ number }) => number));
      return rows;
    };
    await work({ sandbox, database, sync, logged });
    await engine.close();
    await sandbox.close();
  }, SEVERAL);
}

test('a first load is no change; from then on each is logged with what was there before and after', async () => {
  await withLists(async ({ sandbox, database, sync, logged }) => {
    await sync();
    expect(await logged()).toEqual([]);
    await sync();
    expect(await logged()).toEqual([]);

    const [invoice] = [...sandbox.rows('invoices')];
    const { id, status, items } = invoice as never as { id: number; status: string; items: object[] };
    sandbox.update('invoices', id, { status: 'Void' } as never);
    await sync();
    const [first, ...others] = await logged();
    expect(others).toEqual([]);
    expect(first).toMatchObject({
      ...{ number: 1, resource: 'invoices', key: String(id), kind: 'updated' },
      ...{ before: { status }, after: { status: 'Void' } },
    });

    // What an earlier change led to stays as it was.
    sandbox.update('invoices', id, { items: items.slice(0, 1) } as never);
    const gone = sandbox.change('transaction-deleted');
    await sync();
    await sync();
    await sync();
    const found = await logged();
    expect(found.find(({ kind }) => kind === 'deleted')).toMatchObject({
      ...{ key: String(gone.id), after: null },
      before: { id: gone.id, amount: expect.anything() },
    });
    expect(found.map(({ number, kind, resource }) => [number, kind, resource])).toEqual([
      [2, 'updated', 'invoices'],
      [3, 'deleted', 'transactions'],
    ]);
    const { rows } = await database.query(`select after from warehouse.changes where number = 1`);
    expect(rows).toEqual([{ after: { status: 'Void' } }]);
  });
});

test('the log rebuilds every table from the first proven state, and each change happened between its two moments', async () => {
  await withLists(async ({ sandbox, database, sync, logged }) => {
    await sync();
    const state = await storedRows(database);
    const begun = sandbox.changes.length;
    for (let round = 0; round < 8; round++) {
      sandbox.changeRandom(25);
      await sync();
    }
    for (let round = 0; round < 3; round++) await sync();
    const all = await logged();
    expect(all.length).toBeGreaterThan(100);
    expect(all.map(({ number }) => number)).toEqual(all.map((_, index) => index + 1));
    expect(replayLog(state, all)).toEqual(await storedRows(database));

    const made = sandbox.changes.slice(begun);
    const outside = all.filter(({ resource, key, earliest, seen_at: seenAt }) => {
      const after = earliest === null ? Number.NEGATIVE_INFINITY : stampMs(earliest);
      return !made.some(
        change =>
          change.resource === resource &&
          String(change.id) === key &&
          change.at >= Math.floor(after) &&
          change.at <= Math.ceil(stampMs(seenAt)),
      );
    });
    expect(outside).toEqual([]);
    // And the first of them is known closely: the list was read a moment before.
    expect(all.filter(({ earliest }) => earliest === null)).toEqual([]);
  });
});

test('an undo is logged, and a row that comes back is told from a new one', async () => {
  await withLists(async ({ sandbox, database, sync, logged }) => {
    await sync();
    const [row] = [...sandbox.rows('transactions')];
    const id = row?.id as number;
    sandbox.remove('transactions', id);
    await sync();
    await sync();
    sandbox.restore('transactions', id);
    await sync();
    const kinds = (await logged()).map(({ kind, key }) => [kind, key]);
    expect(kinds).toEqual([
      ['deleted', String(id)],
      ['revived', String(id)],
    ]);

    const [invoice] = [...sandbox.rows('invoices')];
    const { id: of, status } = invoice as never as { id: number; status: string };
    sandbox.update('invoices', of, { status: 'Void' } as never);
    await sync();
    await logged();
    const run = await runOfLast(database);
    await undoRuns(database, { name: 'main', schema: 'warehouse', jobs: jobsOf() }, [run], { dryRun: false });
    const [undone] = await logged();
    expect(undone).toMatchObject({
      ...{ kind: 'updated', key: String(of), before: { status: 'Void' }, after: { status }, earliest: null },
    });
    await sync();
    const [again, ...others] = await logged();
    expect(others).toEqual([]);
    expect(again).toMatchObject({ kind: 'updated', before: { status }, after: { status: 'Void' } });
    // It happened before it was undone here.
    expect(stampMs(again?.earliest ?? '')).toBeLessThan(stampMs(undone?.seen_at ?? ''));
  });
});

/** Resolves once so many sessions wait for a lock. */
const areWaiting = (database: Database, count: number) =>
  vi.waitFor(async () => {
    const { rows } = await database.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    expect(rows).toHaveLength(count);
  }, 30_000);

test('values that are emptied beside a commit are logged as that commit left them', async () => {
  await withLists(async ({ database, sync, logged }) => {
    await sync();
    const { rows } = await database.query<{ id: string; type: string }>(
      `select id::text, type from warehouse.transactions where type is not null order by id limit 1`,
    );
    const { id, type } = rows[0] as { id: string; type: string };
    await database.query(
      `insert into sluice.held (source, resource, field, key, since) values ('main', 'transactions', 'type', '${id}', now())`,
    );
    let emptied: Promise<void> | undefined;
    await database.transaction(async tx => {
      // As a commit: first the row, then the numbers.
      await sql`update warehouse.transactions set description = 'Of the commit' where id = ${id}`.execute(tx);
      emptied = database.transaction(other =>
        emptyHeld(other, TRANSACTIONS, PLACE, {
          fields: ['type'],
          runId: null,
        }),
      );
      emptied.catch(() => undefined);
      await areWaiting(database, 1);
      await sql`insert into sluice.change_numbers (schema, last) values ('warehouse', 0)
        on conflict (schema) do update set last = excluded.last`.execute(tx);
    });
    await emptied;
    expect(await logged()).toMatchObject([{ number: 1, kind: 'updated', before: { type }, after: { type: null } }]);
  });
});

test('where deleted rows are kept for a few days, no change outlives what it shows', async () => {
  await withLists(async ({ sandbox, database, sync, logged }) => {
    await sync();
    const [row] = [...sandbox.rows('transactions')];
    const id = row?.id as number;
    sandbox.update('transactions', id, { description: 'Another' } as never);
    await sync();
    sandbox.remove('transactions', id);
    await sync();
    await sync();
    expect((await logged()).map(({ kind }) => kind)).toEqual(['updated', 'deleted']);
    for (const [table, columns] of [
      ['row_history', ['valid_from', 'valid_to']],
      ['change_log', ['seen_at']],
    ] as const)
      for (const column of columns)
        await database.query(`update warehouse.${table} set ${column} = ${column} - interval '5 days'`);
    const lists = [{ schema: 'warehouse', name: 'transactions', history: false }];
    await forgetOldWork(database.kysely, 'main', { ...RETENTION, history: 3 }, lists);
    sandbox.restore('transactions', id);
    await sync();
    const { rows } = await database.query<Logged>('select number::int, kind, before, after from warehouse.changes');
    expect(rows).toMatchObject([{ number: 3, kind: 'inserted', after: { id } }]);
  });
});

const jobsOf = () => new Map(MAIN.map(name => [name, JOBS[name]]));

test('numbers have no gaps where lists are forgotten or rows erased, and begin anew where the oldest are forgotten', async () => {
  await withLists(async ({ sandbox, database, sync, logged }) => {
    await sync();
    sandbox.changeRandom(40);
    await sync();
    const all = await logged();
    const [first] = all;
    const table = tableIn(
      'warehouse',
      declareTable(first?.resource as 'invoices', JOBS[first?.resource as 'invoices']),
    );
    const place = { source: 'main', resource: first?.resource as 'invoices' };
    await database.transaction(tx => eraseRow(tx, table, place, String(first?.key)));
    const of = async () =>
      (
        await database.query<{ number: string; key: string | null }>(
          'select number, key from warehouse.change_log order by 1',
        )
      ).rows;
    expect((await of()).map(({ number }) => Number(number))).toEqual(all.map(({ number }) => number));
    expect((await of())[0]?.key).toBeNull();

    await database.query(`update warehouse.change_log set seen_at = seen_at - interval '40 days' where number <= 10`);
    await forgetOldWork(database.kysely, 'main', RETENTION, [
      { schema: 'warehouse', name: 'invoices', history: false },
    ]);
    expect(Number((await of())[0]?.number)).toBe(11);
    const numbers = async () => (await database.query('select first, last from sluice.change_numbers')).rows;
    expect(await numbers()).toEqual([{ first: '11', last: String(all.length) }]);

    // As docs/runbook.md says for a restore: what is skipped stays so.
    await database.query('update sluice.change_numbers set first = last + 1000000001, last = last + 1000000000');
    const skipped = await numbers();
    await database.query(`update warehouse.change_log set seen_at = seen_at - interval '40 days' where number <= 20`);
    await forgetOldWork(database.kysely, 'main', RETENTION, [
      { schema: 'warehouse', name: 'invoices', history: false },
    ]);
    expect(await numbers()).toEqual(skipped);
    sandbox.changeRandom(5);
    await sync();
    expect((await logged())[0]?.number).toBe(1_000_000_001 + all.length);
  });
});

test.each(['2026-01-15T10:00:00+99:99', '2026-01-15 RE-2026', '2026-01-15 tel. 030/1234-56'])(
  'a field that begins like a moment and is none is stored and shown (%s)',
  async text => {
    await withLists(async ({ sandbox, database, sync, logged }) => {
      const [row] = [...sandbox.rows('transactions')];
      const [invoice] = [...sandbox.rows('invoices')] as { id: number; items: object[] }[];
      const set = (ref: string) => {
        sandbox.update('transactions', row?.id ?? 0, { ref } as never);
        const items = invoice?.items.map(item => ({ ...item, ref }));
        sandbox.update('invoices', invoice?.id ?? 0, { items } as never);
      };
      const other = text.replace('-15', '-16');
      set(text);
      await sync();
      set(other);
      await sync();
      const { rows } = await database.query(
        `select _extra->>'ref' as ref, (select count(*)::int from sluice.quarantine) as quarantined from warehouse.transactions where id = ${row?.id}`,
      );
      expect(rows).toEqual([{ ref: other, quarantined: 0 }]);
      const found = await logged();
      expect(found).toHaveLength(2);
      expect(found.find(({ resource }) => resource === 'transactions')).toMatchObject({
        before: { ref: text },
        after: { ref: other },
      });
    });
  },
);

test('what is only written otherwise is stored, and is no change', async () => {
  await withLists(async ({ sandbox, database, sync, logged }) => {
    const [row] = [...sandbox.rows('transactions')];
    const [invoice] = [...sandbox.rows('invoices')] as { id: number; items: object[] }[];
    const set = (description: string, more: object) => {
      sandbox.update('transactions', row?.id ?? 0, { description } as never);
      const items = invoice?.items.map(item => ({ ...item, ...more }));
      sandbox.update('invoices', invoice?.id ?? 0, { items } as never);
    };
    set('2026-01-15T10:00:00+01:00', { packs: '1' });
    await sync();
    set('2026-01-15T09:00:00Z', { packs: 1, discount: null });
    await sync();
    const { rows } = await database.query(
      `select (select description from warehouse.transactions where id = ${row?.id}) as text,
        (select bool_and(_extra->'packs' = '1') from warehouse.invoice_items where invoice_id = ${invoice?.id}) as lines`,
    );
    expect(rows).toEqual([{ text: '2026-01-15T09:00:00Z', lines: true }]);
    expect(await logged()).toEqual([]);
  });
});

test('a row that is kept whole and only written otherwise is no change', async () => {
  await withDatabase(async database => {
    let packs: unknown = '1';
    const addFields = (_: string, __: object, rendered: Record<string, unknown>) => ({ ...rendered, packs });
    const sandbox = await openSandbox({
      size: { customers: 1, invoices: 1, transactions: 1 },
      rateLimit: 0,
      addFields,
    });
    const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['orders'] });
    await serveOrders(engine, 'sync', { whole: true });
    const seen = async () =>
      (
        await database.query(
          `select count(*)::int as rows, min(record->>'packs') as packs, min(jsonb_typeof(record->'packs')) as type,
            (select count(*)::int from warehouse.changes) as changes from warehouse.orders`,
        )
      ).rows;
    const [{ rows }] = (await seen()) as [{ rows: number }];
    expect(rows).toBeGreaterThan(0);
    packs = 1;
    await serveOrders(engine, 'sync', { whole: true });
    expect(await seen()).toEqual([{ rows, packs: '1', type: 'number', changes: 0 }]);
    packs = 2;
    await serveOrders(engine, 'sync', { whole: true });
    expect(await seen()).toEqual([{ rows, packs: '2', type: 'number', changes: rows }]);
    await engine.close();
    await sandbox.close();
  });
});

test('an undo of runs that made good what they had changed is no change', async () => {
  await withLists(async ({ sandbox, database, sync, logged }) => {
    const [row] = [...sandbox.rows('transactions')] as { id: number; description: string }[];
    const { id, description } = row as { id: number; description: string };
    await sync();
    sandbox.update('transactions', id, { description: 'Wrong' } as never);
    await sync();
    const wrong = await runOfLast(database);
    sandbox.update('transactions', id, { description } as never);
    await sync();
    const right = await runOfLast(database);
    expect(await logged()).toHaveLength(2);
    await undoRuns(database, { name: 'main', schema: 'warehouse', jobs: jobsOf() }, [wrong, right], { dryRun: false });
    expect(await logged()).toEqual([]);
  });
});

const runOfLast = async (database: Database): Promise<string> => {
  const { rows } = await database.query<{ run: string }>(
    `select run_id::text as run from warehouse.change_log order by number desc limit 1`,
  );
  return rows[0]?.run as string;
};

test('a row that was undone after the clock was put back takes what comes next', async () => {
  await withLists(async ({ sandbox, database, sync }) => {
    await sync();
    const [row] = [...sandbox.rows('transactions')];
    sandbox.update('transactions', row?.id ?? 0, { description: 'Second' } as never);
    await sync();
    // Read while the clock was ahead; what is live was dated back since.
    await database.query(
      `update warehouse.row_history set row = jsonb_set(row, '{_read_at}', to_jsonb((now() + interval '1 year')::text))`,
    );
    const run = await runOfLast(database);
    await undoRuns(database, { name: 'main', schema: 'warehouse', jobs: jobsOf() }, [run], { dryRun: false });
    sandbox.update('transactions', row?.id ?? 0, { description: 'Third' } as never);
    await sync();
    const { rows } = await database.query(`select description from warehouse.transactions where id = ${row?.id}`);
    expect(rows).toEqual([{ description: 'Third' }]);
  });
});

const TRANSACTIONS = tableIn('warehouse', declareTable('transactions', JOBS.transactions));
const PLACE = { source: 'main', resource: 'transactions' };

test.each<{ what: string; work: (tx: Transaction, key: string) => Promise<unknown> }>([
  {
    what: 'values that are emptied',
    work: tx => emptyHeld(tx, TRANSACTIONS, PLACE, { fields: ['description'], runId: null }),
  },
  {
    what: 'a deletion',
    work: (tx, key) => deleteRows(tx, TRANSACTIONS, PLACE, [key], { runId: null, accepted: 1 }),
  },
])('$what and an undo wait for each other', async ({ work }) => {
  await withLists(async ({ sandbox, database, sync }) => {
    await sync();
    const [row, second] = [...sandbox.rows('transactions')];
    sandbox.update('transactions', row?.id ?? 0, { description: 'Second' } as never);
    await sync();
    await database.query(
      `insert into sluice.held (source, resource, field, key, since) values ('main', 'transactions', 'description', '${second?.id}', now())`,
    );
    const run = await runOfLast(database);
    const both: Promise<unknown>[] = [];
    await database.transaction(async tx => {
      await sql`update sluice.change_numbers set last = last where schema = 'warehouse'`.execute(tx);
      both.push(database.transaction(other => work(other, String(second?.id))));
      await areWaiting(database, 1);
      both.push(undoRuns(database, { name: 'main', schema: 'warehouse', jobs: jobsOf() }, [run], { dryRun: false }));
      await areWaiting(database, 2);
    });
    expect((await Promise.allSettled(both)).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
  });
});
