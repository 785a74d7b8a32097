import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { runLoop } from '../../../src/engine/run/loop.ts';
import { endAbandonedRuns, endRun, startRun } from '../../../src/warehouse/ledgers/runs.ts';
import { recordSlot } from '../../../src/warehouse/ledgers/slots.ts';
import { whatIsDue } from '../../../src/warehouse/reports/due.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';
import { bookCounts } from '../../warehouse/ledgers/booking.ts';

const RUN = { source: 'main', resource: 'invoices', kind: 'slot', orderId: null, slotAt: null };
const SERVICE = { orders: () => true, slots: true };

test('a commit after the end of a run is counted, and the run stays ended', async () => {
  await withDatabase(async database => {
    const id = await startRun(database.kysely, RUN);
    await endRun(database.kysely, id, { state: 'stopped', reason: 'The order was paused.' });
    await bookCounts(database, 'invoices', [{ runId: id, orderId: null, counts: { requests: 2, inserted: 7 } }]);
    const { rows } = await database.query(
      'select state, requests::int as requests, inserted::int as inserted, ended_at is not null as ended from sluice.runs',
    );
    expect(rows).toEqual([{ state: 'stopped', requests: 2, inserted: 7, ended: true }]);
  });
});

test('what several tasks did for one run is added up', async () => {
  await withDatabase(async database => {
    const runId = await startRun(database.kysely, RUN);
    const one = { runId, orderId: null, counts: { requests: 2, updated: 1 } };
    await bookCounts(database, 'invoices', [one, one]);
    const { rows } = await database.query('select requests::int, updated::int, inserted::int from sluice.runs');
    expect(rows).toEqual([{ requests: 4, updated: 2, inserted: 0 }]);
  });
});

test('the slot of a run that a database error ended is open again, but not that of a run that the source failed', async () => {
  await withDatabase(async database => {
    for (const [minute, failure] of ['database', 'unavailable'].entries()) {
      await recordSlot(database.kysely, 'main', 'invoices', new Date(Date.UTC(2026, 0, 1, 0, minute)));
      const id = await startRun(database.kysely, RUN);
      await database.query('update sluice.slots set run_id = $1 where run_id is null', [id]);
      await endRun(database.kysely, id, { state: 'failed', failure });
      const { rows } = await database.query('select from sluice.slots where run_id is null');
      expect([failure, rows.length]).toEqual([failure, failure === 'database' ? 1 : 0]);
    }
  });
});

test('after five processes in a row died before reading a slice, the run of the resource fails', async () => {
  await withDatabase(async database => {
    const die = async (slices: number) => {
      const id = await startRun(database.kysely, RUN);
      await bookCounts(database, 'invoices', [{ runId: id, orderId: null, counts: { requests: 1, slices } }]);
      await endAbandonedRuns(database.kysely, 'main');
      const { rows } = await database.query<{ state: string }>('select state from sluice.runs where id = $1', [id]);
      return rows[0]?.state;
    };
    const ends: unknown[] = [];
    for (const slices of [0, 0, 0, 1, 0, 0, 0, 0, 0, 0]) ends.push(await die(slices));
    expect(ends).toEqual([...Array(8).fill('stopped'), 'failed', 'failed']);
    const { rows } = await database.query<{ reason: string; next: string }>(
      "select reason, next from sluice.runs where state = 'failed'",
    );
    expect(rows[0]?.reason).toMatch(/4 runs before, and none of them read a slice/);
    expect(rows[0]?.next).toMatch(/log/);
  });
});

test('the slot of a resource without a job is taken, so that it is not due forever', async () => {
  await withDatabase(async database => {
    const sandbox = await openSandbox({ rateLimit: 0 });
    const engine = await openEngine(database, sandbox, { resources: ['customers'] });
    await recordSlot(database.kysely, 'main', 'gone', new Date());
    await runLoop(engine, SERVICE, new AbortController().signal);
    expect((await whatIsDue(database.kysely, 'main')).now).toBe(false);
    const { rows } = await database.query('select resource, state, reason from sluice.runs');
    expect(rows).toEqual([{ resource: 'gone', state: 'failed', reason: 'There is no job for "gone".' }]);
    await engine.close();
    await sandbox.close();
  });
});

test('a tick during the run of the previous tick waits for its end, and each tick is read once', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    // Each response takes two seconds, so that the loop looks for ticks meanwhile.
    const sandbox = await openSandbox({ rateLimit: 0, today: '2026-01-15', clock, latencyMs: 2000 });
    let ticks = 0;
    const tick = () => recordSlot(database.kysely, 'main', 'invoices', new Date(clock.now() + ticks++));
    const engine = await openEngine(database, sandbox, {
      clock,
      limit: 100_000,
      resources: ['invoices'],
      onEvent: event => {
        // Once before the first request, and once after the first commit.
        if (event.kind === 'begun' && ticks === 1) void tick();
        if (event.kind === 'committed' && ticks === 2) void tick();
      },
    });
    await serveOrders(engine, 'sync');
    await clock.advance(3_600_000);
    await tick();
    await runLoop(engine, SERVICE, new AbortController().signal);
    await runLoop(engine, SERVICE, new AbortController().signal);
    expect(ticks).toBe(3);
    const { rows: runs } = await database.query(
      "select state, requests > 0 as read from sluice.runs where kind = 'slot' order by id",
    );
    expect(runs).toEqual(runs.map(() => ({ state: 'done', read: true })));
    const { rows } = await database.query(
      `select count(*)::int as slots, count(run_id)::int as taken, count(distinct run_id)::int as runs from sluice.slots`,
    );
    expect(rows).toEqual([{ slots: 3, taken: 3, runs: runs.length }]);
    await engine.close();
    await sandbox.close();
  });
});
