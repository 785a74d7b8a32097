import { expect, test } from 'vitest';
import { HOUR } from '../../../../src/clock.ts';
import { runLoop } from '../../../../src/engine/run/loop.ts';
import { openSandbox } from '../../../../src/sandbox/sandbox.ts';
import { freshness } from '../../../../src/warehouse/ledgers/incidents.ts';
import { recordSlot } from '../../../../src/warehouse/ledgers/slots.ts';
import { differences } from '../../../support/compare.ts';
import { withDatabase } from '../../../support/database.ts';
import { openEngine } from '../../../support/source.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';

test('a slot that leaves parts of the list unread is not done; the slots after it go on until all are read', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database, '2026-01-15T10:00:00.000Z');
    const sandbox = await openSandbox({
      size: { customers: 5, invoices: 5, transactions: 700 },
      rateLimit: 0,
      clock,
      variants: { 'limit-max': '20-reject' },
    });
    const engine = await openEngine(database, sandbox, { clock, limit: 30, resources: ['transactions'] });
    const states: string[] = [];
    for (let hour = 0; hour < 12 && states.at(-1) !== 'done'; hour++) {
      await clock.advance(HOUR);
      await recordSlot(database.kysely, 'main', 'transactions', new Date(clock.now()));
      await runLoop(engine, { orders: () => false, slots: true }, new AbortController().signal);
      const { rows } = await database.query<{ state: string; reason: string | null; unread: number }>(
        `select state, reason, (select count(*)::int from sluice.coverage where proven_at is null and slice like 'date %') as unread
         from sluice.runs order by id desc limit 1`,
      );
      states.push(rows[0]?.state ?? '');
      // The runs of this list that are done before it was read in full, if any, make nothing fresh.
      await database.query(`update sluice.runs set state = 'done' where state = 'stopped'`);
      const [fresh] = await freshness(database.kysely, 'main', ['transactions']);
      expect(fresh?.ageSeconds === null).toBe(rows[0]?.unread !== 0);
      const expected = {
        state: 'stopped',
        reason: expect.stringMatching(/^\d+ slices? (was|were) never read: /) as string,
      };
      expect(rows[0]).toMatchObject(rows[0]?.unread ? expected : { state: 'done', reason: null });
    }
    expect(states).toContain('stopped');
    expect(states.at(-1)).toBe('done');
    expect(await differences(database, sandbox, 5, ['transactions'])).toEqual([]);
    const { rows: open } = await database.query('select from sluice.slots where run_id is null');
    expect(open).toEqual([]);
    await engine.close();
    await sandbox.close();
  });
});
