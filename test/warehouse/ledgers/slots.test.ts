import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { endRun, keepWaiting, startRun } from '../../../src/warehouse/ledgers/runs.ts';
import { openSlots, recordSlot, type Slot, takeSlot } from '../../../src/warehouse/ledgers/slots.ts';
import { whatIsDue } from '../../../src/warehouse/reports/due.ts';
import { withDatabase } from '../../support/database.ts';

test('open slots, and those of a run that releases its slots, are found without scanning the taken ones', async () => {
  await withDatabase(async ({ kysely, query, transaction }) => {
    const resources = ['customers', 'invoices', 'transactions'];
    await query(
      `insert into sluice.slots (source, resource, slot_at, recorded_at, run_id)
       select source, resource, at, at, 1000000 + extract(epoch from at)::bigint / 900 from unnest(array['main', 'graz']) source,
         unnest($1::text[]) resource, generate_series(sluice.now() - interval '60 days', sluice.now(), interval '15 minutes') at`,
      [resources],
    );
    await query('analyze sluice.slots');
    const runs: string[] = [];
    for (const resource of resources) {
      const run = { source: 'main', resource, kind: 'slot', orderId: null, slotAt: null };
      runs.push(await startRun(kysely, run));
      await recordSlot(kysely, 'main', resource, new Date(Date.now() + 60_000));
    }
    await transaction(async tx => {
      const open = await openSlots(tx, 'main');
      expect(open.map(slot => slot.resource)).toEqual(resources);
      for (const [index, slot] of open.entries()) await takeSlot(tx, 'main', slot, runs[index] as string);
      const [first, ...others] = runs as [string, ...string[]];
      await endRun(tx, first, { state: 'stopped' });
      await keepWaiting(tx, others, 60_000);
      expect(await openSlots(tx, 'main')).toHaveLength(3);
      expect((await whatIsDue(tx, 'main')).now).toBe(true);
      // What this transaction has read so far, told at once.
      const { rows } = await sql<{ reads: string }>`select seq_tup_read + idx_tup_fetch as reads
        from pg_stat_xact_user_tables where relid = 'sluice.slots'::regclass`.execute(tx);
      expect(Number(rows[0]?.reads)).toBeLessThan(100);
    });
  });
});

test('a tick whose time comes again after the clock was put back is recorded again, exactly once', async () => {
  await withDatabase(async ({ kysely, query }) => {
    const tick = new Date('2026-01-15T10:00:00Z');
    const run = await startRun(kysely, {
      source: 'main',
      resource: 'users',
      kind: 'slot',
      orderId: null,
      slotAt: null,
    });
    expect(await recordSlot(kysely, 'main', 'users', tick)).toBe(true);
    const [slot] = await openSlots(kysely, 'main');
    await takeSlot(kysely, 'main', slot as Slot, run);
    expect(await recordSlot(kysely, 'main', 'users', tick)).toBe(false);
    // As it is after the clock was put back by an hour.
    await query("update sluice.slots set recorded_at = sluice.now() + interval '1 hour'");
    expect(await recordSlot(kysely, 'main', 'users', tick)).toBe(true);
    expect(await openSlots(kysely, 'main')).toHaveLength(1);
    expect(await recordSlot(kysely, 'main', 'users', tick)).toBe(false);
  });
});
