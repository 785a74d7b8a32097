import { expect, test } from 'vitest';
import { openSandbox } from '../../../../sandbox/sandbox.ts';
import { HOUR, SECOND } from '../../../../src/clock.ts';
import { runLoop } from '../../../../src/engine/run/loop.ts';
import { freshness } from '../../../../src/warehouse/ledgers/incidents.ts';
import { recordSlot } from '../../../../src/warehouse/ledgers/slots.ts';
import { differences } from '../../../support/compare.ts';
import { withDatabase } from '../../../support/database.ts';
import { long } from '../../../support/long.ts';
import { openEngine } from '../../../support/source.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';

long('a slot reads all that was never read, however long the request limit makes it wait', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database, '2026-01-15T10:00:00.000Z');
    const sandbox = await openSandbox({
      size: { customers: 5, invoices: 5, transactions: 700 },
      rateLimit: 0,
      clock,
      variants: { 'limit-max': '20-reject' },
    });
    const engine = await openEngine(database, sandbox, { clock, limit: 30, resources: ['transactions'] });
    await recordSlot(database.kysely, 'main', 'transactions', new Date(clock.now()));
    const begun = clock.now();
    await runLoop(engine, { orders: () => false, slots: true }, new AbortController().signal);
    expect(clock.now() - begun).toBeGreaterThanOrEqual(HOUR);
    const { rows } = await database.query('select state, reason from sluice.runs');
    expect(rows).toEqual([{ state: 'done', reason: null }]);
    expect(await differences(database, sandbox, 5, ['transactions'])).toEqual([]);
    const { rows: open } = await database.query('select from sluice.slots where run_id is null');
    expect(open).toEqual([]);
    await engine.close();
    await sandbox.close();
  });
});

test('a slot that a newer tick overtakes while parts were never read is not done, and nothing is fresh before all are', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const size = { customers: 5, invoices: 5, transactions: 300 };
    const sandbox = await openSandbox({ size, rateLimit: 0, clock, variants: { 'limit-max': '20-reject' } });
    const recordTick = () => recordSlot(database.kysely, 'main', 'transactions', new Date(clock.now()));
    const look = async () => {
      const { rows } = await database.query<{ unread: number; states: string[] }>(
        `select (select count(*)::int from sluice.coverage where proven_at is null and slice like 'date %') as unread,
           array(select state from sluice.runs order by id) as states`,
      );
      const [fresh] = await freshness(database.kysely, 'main', ['transactions']);
      return { ...(rows[0] as (typeof rows)[number]), isFresh: fresh?.ageSeconds !== null };
    };
    const looks: Awaited<ReturnType<typeof look>>[] = [];
    let takes = 0;
    const engine = await openEngine(database, sandbox, {
      ...{ clock, limit: 100_000, resources: ['transactions'], concurrency: 1 },
      wrapBudget: ledger => ({
        ...ledger,
        take: async (...asked) => {
          looks.push(await look());
          takes++;
          if (takes === 6) {
            await clock.advance(2 * SECOND);
            await recordTick();
          }
          return ledger.take(...asked);
        },
      }),
    });
    await recordTick();
    // The first loop ends with the older slot; the service begins the next at once, since a slot is open.
    for (let times = 0; times < 2; times++)
      await runLoop(engine, { orders: () => false, slots: true }, new AbortController().signal);

    const { rows } = await database.query('select state, reason from sluice.runs order by id');
    const overtaken = expect.stringMatching(/^\d+ slices? (was|were) never read: a newer tick took over/) as string;
    expect(rows).toEqual([
      { state: 'stopped', reason: overtaken },
      { state: 'done', reason: null },
    ]);
    const partly = looks.filter(({ unread }) => unread > 0);
    expect(partly.some(({ states }) => states[0] === 'stopped')).toBe(true);
    for (const { states, isFresh } of partly) expect([states.includes('done'), isFresh]).toEqual([false, false]);
    expect(await look()).toMatchObject({ unread: 0, isFresh: true });
    expect(await differences(database, sandbox, 5, ['transactions'])).toEqual([]);
    await engine.close();
    await sandbox.close();
  });
});
