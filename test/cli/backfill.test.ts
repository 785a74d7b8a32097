import { expect, test } from 'vitest';
import { createOrder, readOrders } from '../../src/warehouse/ledgers/orders.ts';
import { long } from '../support/long.ts';
import { useBuild, withInstallation } from './run-command.ts';

useBuild();

long('an open backfill is listed and can be paused, however many later ones have ended', async () => {
  await withInstallation({}, async ({ database, sluice }) => {
    const place = { source: 'main', resource: 'invoices', kind: 'backfill' } as const;
    const { id } = await createOrder(database.kysely, place);
    await database.query(
      `insert into sluice.orders (source, resource, kind, state, created_at, ended_at)
       select 'main', 'invoices', 'backfill', 'done', sluice.now(), sluice.now() from generate_series(1, 60)`,
    );
    const { backfills } = (await sluice('backfill', 'list', '--json')).json();
    expect(backfills.at(-1)).toMatchObject({ id: Number(id), state: 'waiting' });
    expect((await sluice('backfill', 'pause', id)).code).toBe(0);
    expect((await sluice('backfill', 'cancel')).code).toBe(0);
    expect(await readOrders(database.kysely, [id])).toMatchObject([{ state: 'cancelled' }]);

    // A reason stands below the table, so that it does not widen it.
    const range = { dateFrom: '2024-01-01', dateTo: '2024-12-31' };
    const later = await createOrder(database.kysely, { ...place, resource: 'transactions', ...range });
    expect((await sluice('backfill', 'cancel')).code).toBe(0);
    const listed = (await sluice('backfill', 'list')).stdout;
    expect(listed).toContain(`\n\n${later.id}: Cancelled on request.\n`);
    for (const line of listed.split('\n')) expect(line.length, line).toBeLessThanOrEqual(100);
  });
});

test('every order that a message says is paused can be resumed and cancelled by its id', async () => {
  await withInstallation({}, async ({ database, sluice }) => {
    const place = { source: 'main', resource: 'invoices', kind: 'sync', whole: true } as const;
    const { id } = await createOrder(database.kysely, place);
    const said = async (...args: string[]) => {
      const { code, stdout, stderr } = await sluice('backfill', ...args);
      return [code, stdout + stderr];
    };
    expect(await said('pause')).toEqual([2, expect.stringContaining('There is no backfill to pause.')]);
    expect(await said('pause', id)).toEqual([0, expect.stringContaining(`Sync ${id} of invoices is paused.`)]);
    expect((await sluice('sync', 'invoices', '--full')).stderr).toContain(`sluice backfill resume ${id}.`);
    expect(await said('resume', id)).toEqual([
      0,
      `Sync ${id} of invoices is resumed; read it with sluice start or the same sync command.\n`,
    ]);
    expect(await said('cancel', id)).toEqual([0, expect.stringContaining(`Sync ${id} of invoices is cancelled;`)]);
    expect(await readOrders(database.kysely, [id])).toMatchObject([{ state: 'cancelled' }]);
  });
});

test('backfill --dry-run sends no request; a detached order is listed, paused, resumed and cancelled', async () => {
  await withInstallation({}, async ({ sandbox, sluice, sync, database }) => {
    const unread = await sluice('backfill', 'invoices', '--dry-run');
    expect(unread.stdout).toContain('never read');
    await sync('invoices');
    const asked = sandbox.stats.total;
    const from = `${new Date().getUTCFullYear() - 1}-01-01`;
    const dry = (await sluice('backfill', 'invoices', '--from', from, '--dry-run', '--json')).json();
    expect(dry.total).toMatchObject({ neverRead: 0 });
    expect(dry.total.requests).toBeGreaterThan(0);
    expect(sandbox.stats.total).toBe(asked);

    const order = (await sluice('backfill', 'invoices', '--from', from, '--detach', '--json')).json();
    expect(order).toMatchObject({ state: 'waiting', service: false });
    expect((await sluice('backfill', 'pause', String(order.order))).code).toBe(0);
    // When it ends is not known while it is paused.
    expect((await sluice('status', '--json')).json().orders).toMatchObject([
      { id: String(order.order), state: 'paused', left: { finishesAt: null } },
    ]);
    const again = await sluice('backfill', 'invoices', '--from', from);
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('paused')]);
    expect((await sluice('backfill', 'resume')).code).toBe(0);
    const list = await sluice('backfill', 'list');
    expect(list.stdout).toMatch(new RegExp(`${order.order} +invoices +${from} .. end +waiting`));
    const [{ left }] = (await sluice('backfill', 'list', '--json')).json().backfills;
    expect(left.finishesAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

    const served = await sluice('backfill', 'invoices', '--from', from, '--json');
    expect(served.json().resources).toMatchObject([{ order: order.order, state: 'done' }]);
    const none = await sluice('backfill', 'cancel');
    expect([none.code, none.stderr]).toEqual([
      2,
      expect.stringContaining('There is no backfill to cancel.\nTo see all backfills'),
    ]);
    const { rows } = await database.query('select count(*)::int as orders from sluice.orders');
    expect(rows).toEqual([{ orders: 2 }]);
  });
});
