import { expect, test } from 'vitest';
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts';
import { HOUR } from '../../../src/clock.ts';
import { runLoop } from '../../../src/engine/run/loop.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { dueHints, leaveHints } from '../../../src/warehouse/ledgers/hints.ts';
import { createOrder, setOrderState } from '../../../src/warehouse/ledgers/orders.ts';
import { whatIsDue } from '../../../src/warehouse/reports/due.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';

const SERVICE = { orders: () => true, slots: true };
/** Invoices that take 25 requests to read. */
const LONG = { customers: 100, invoices: 2500, transactions: 10 };
const SIZE = { customers: 100, invoices: 600, transactions: 100 };

interface Given {
  readonly sandbox: Sandbox;
  readonly database: Database;
  readonly clock: VirtualClock;
  /** Serves hints for these slices as a service does; returns the number of requests. */
  readonly hint: (...hints: [resource: string, slice: string][]) => Promise<number>;
}

/** Brackets a test with a synced source on a virtual clock. */
async function withSynced(variants: Partial<Sandbox['variants']>, fn: (given: Given) => Promise<void>): Promise<void> {
  const sandbox = await openSandbox({ size: SIZE, rateLimit: 0, today: '2026-01-15', variants });
  await withDatabase(async database => {
    const clock = await createVirtualClock(database, '2026-01-15T10:00:00.000Z');
    const engine = await openEngine(database, sandbox, { clock });
    await serveOrders(engine, 'sync');
    const hint = async (...hints: [string, string][]) => {
      const before = sandbox.stats.total;
      await leaveHints(
        database.kysely,
        hints.map(([resource, slice]) => ({ source: 'main', resource, slice })),
      );
      await runLoop(engine, SERVICE, new AbortController().signal);
      return sandbox.stats.total - before;
    };
    await fn({ sandbox, database, clock, hint });
    await engine.close();
  });
  await sandbox.close();
}

const invoice = (sandbox: Sandbox, fields: object = {}) => {
  const { id: _, ...row } = [...sandbox.rows('invoices')].at(-1) as never as { id: number };
  return sandbox.insert('invoices', { ...row, invoice_number: 'new', ...fields } as never).id;
};

test('a hint for an unknown row reads the newest end of the list: two requests, without an order or a slot', async () => {
  await withSynced({}, async ({ sandbox, database, hint }) => {
    const id = invoice(sandbox);
    expect(await hint(['invoices', `one ${id}`])).toBe(2);
    expect(await differences(database, sandbox)).toEqual([]);
    const { rows } = await database.query(`select kind, state, requests from sluice.runs where kind = 'hint'`);
    expect(rows).toEqual([{ kind: 'hint', state: 'done', requests: '2' }]);
  });
});

test('a hint for a stored row reads its customer: one request, however old the row is', async () => {
  await withSynced({}, async ({ sandbox, database, hint }) => {
    const [oldest] = sandbox.rows('invoices');
    sandbox.update('invoices', oldest?.id as number, { status: 'Partially Paid', notes: 'now' });
    expect(await hint(['invoices', `one ${oldest?.id}`])).toBe(1);
    expect(await differences(database, sandbox)).toEqual([]);
  });
});

test('a hint for a stored row reads its date window if the source ignores the customer filter', async () => {
  await withSynced({ filters: 'ignored' }, async ({ sandbox, database, clock, hint }) => {
    const [oldest] = sandbox.rows('invoices');
    await hint(['invoices', `one ${oldest?.id}`]);
    await clock.advance(60_000);
    sandbox.update('invoices', oldest?.id as number, { notes: 'now' });
    expect(await hint(['invoices', `one ${oldest?.id}`])).toBeLessThanOrEqual(10);
    expect(await differences(database, sandbox)).toEqual([]);
  });
});

test('in a list without order, a hint for an unknown row reads the window of today', async () => {
  await withSynced({ order: 'shuffled' }, async ({ sandbox, database, hint }) => {
    const id = invoice(sandbox, { date: '2026-01-15' });
    expect(await hint(['invoices', `one ${id}`])).toBeLessThanOrEqual(10);
    expect(await differences(database, sandbox)).toEqual([]);
  });
});

test('a flood of hints costs no more than one hint task; hints for unknown or unread resources are dropped', async () => {
  await withSynced({}, async ({ sandbox, database, clock, hint }) => {
    const all = [...sandbox.rows('invoices')]
      .slice(0, 100)
      .map(row => ['invoices', `one ${row.id}`] as [string, string]);
    const first = await hint(...all, ['nothing', 'newest']);
    expect(first).toBeGreaterThan(0);
    expect(first).toBeLessThanOrEqual(10);
    expect(await hint(...all)).toBe(0);
    let spent = first;
    for (let second = 0; second < 600; second += 10) {
      await clock.advance(10_000);
      spent += await hint(...all);
    }
    // A fortieth of the limit in a quarter of the window, plus the requests that the last reading started with.
    expect(spent).toBeLessThanOrEqual(25 + 10);
    expect(await dueHints(database.kysely, 'main', { limit: 1000, windowMs: 3_600_000 })).toEqual([]);
  });
});

test('a hint that arrives during a long reading of its list is served before the reading continues', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database, '2026-01-15T10:00:00.000Z');
    // Each response takes a second, so that the loop looks for hints in between.
    const sandbox = await openSandbox({ size: LONG, rateLimit: 0, today: '2026-01-15', clock, latencyMs: 1000 });
    const told: string[] = [];
    let left: Promise<void> | undefined;
    const engine = await openEngine(database, sandbox, {
      clock,
      limit: 100_000,
      resources: ['invoices'],
      onEvent: event => {
        if (event.kind === 'ended') told.push(`${event.task.kind} ${event.state}`);
        if (event.kind !== 'committed' || event.task.kind !== 'backfill') return;
        told.push('backfill read');
        left ??= leaveHints(database.kysely, [{ source: 'main', resource: 'invoices', slice: 'newest' }]);
      },
    });
    await serveOrders(engine, 'sync');
    told.splice(0);
    await createOrder(database.kysely, { source: 'main', resource: 'invoices', kind: 'backfill' });
    await runLoop(engine, SERVICE, new AbortController().signal);
    await left;
    expect(told.at(-1)).toBe('backfill done');
    const hinted = told.indexOf('hint done');
    expect(hinted).toBeGreaterThan(0);
    expect(told.slice(hinted).filter(each => each === 'backfill read').length).toBeGreaterThan(0);
    await engine.close();
    await sandbox.close();
  });
});

test('equal hints are stored once, and a resource has at most fifty', async () => {
  await withDatabase(async database => {
    const hints = Array.from({ length: 200 }, (_, index) => ({
      source: 'main',
      resource: 'invoices',
      slice: `one ${index % 100}`,
    }));
    for (let time = 0; time < 2; time++) await leaveHints(database.kysely, hints);
    const { rows } = await database.query('select count(*)::int as hints from sluice.hints');
    expect(rows).toEqual([{ hints: 50 }]);
  });
});

test('at the request limit hints wait, as does a backfill, and are served first when the limit allows', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database, '2026-01-15T10:00:00.000Z', { quietMs: 10 });
    const sandbox = await openSandbox({ size: SIZE, rateLimit: 1000, today: '2026-01-15', clock });
    const engine = await openEngine(database, sandbox, { clock, limit: 1000, resources: ['invoices'] });
    const read = () => runLoop(engine, { ...SERVICE, yields: true }, new AbortController().signal);
    await serveOrders(engine, 'sync');
    await clock.advance(2 * HOUR);
    const [oldest] = sandbox.rows('invoices');
    sandbox.update('invoices', oldest?.id as number, { notes: 'now' });
    const id = invoice(sandbox);
    sandbox.spend(1000);
    const { id: order } = await createOrder(database.kysely, {
      source: 'main',
      resource: 'invoices',
      kind: 'backfill',
    });
    await leaveHints(
      database.kysely,
      [`one ${oldest?.id}`, `one ${id}`].map(slice => ({ source: 'main', resource: 'invoices', slice })),
    );
    await read();
    const { rows } = await database.query('select kind, state from sluice.runs where ended_at is null order by kind');
    expect(rows).toEqual([
      { kind: 'backfill', state: 'waiting' },
      { kind: 'hint', state: 'waiting' },
    ]);
    const left = await database.query('select from sluice.hints');
    expect(left.rows.length).toBeGreaterThan(1);
    expect(await dueHints(database.kysely, 'main', { limit: 1000, windowMs: HOUR })).toEqual([]);
    expect((await whatIsDue(database.kysely, 'main')).now).toBe(false);

    await setOrderState(database.kysely, order, ['waiting'], 'cancelled');
    await clock.advance(2 * HOUR);
    await read();
    expect(await differences(database, sandbox, Number.POSITIVE_INFINITY)).not.toContainEqual(
      expect.stringMatching(/^invoices/),
    );
    await engine.close();
    await sandbox.close();
  });
});
