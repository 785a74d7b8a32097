import { expect, test } from 'vitest';
import { openSandbox, type SandboxOptions } from '../../../sandbox/sandbox.ts';
import { withDatabase } from '../../support/database.ts';
import { findText } from '../../support/find-text.ts';
import { keepFrom } from '../../support/keep-from.ts';
import { some } from '../../support/long.ts';
import { ALL } from '../../support/resources.ts';
import { openEngine, serveOrders } from '../../support/source.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const SIZE = { customers: 20, invoices: 40, transactions: 40 };

test.each<[NonNullable<SandboxOptions['variants']>, string]>(
  some(
    [
      [{ secrets: 'nested', 'extra-fields': 'yes' }, 'warehouse.orders'],
      [{ secrets: 'nested', 'other-ids': 'no', 'transaction-ids': 'no', lists: 'gaps' }, 'warehouse.invoice_items'],
      [{ secrets: 'nested', fault: 'rows-unreadable', charset: 'broken' }, 'warehouse.customers'],
      [{ secrets: 'wrapped' }, 'sluice.quarantine'],
    ],
    2,
  ),
)('with %j no table holds a password, a key or a card number', async (variants, filled) => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database, '2026-01-15T10:00:00.000Z');
    const sandbox = await openSandbox({ size: SIZE, rateLimit: 0, variants, clock });
    keepFrom(sandbox, '2025-07-01');
    const engine = await openEngine(database, sandbox, { clock, limit: 100_000, resources: ALL });
    try {
      await serveOrders(engine, 'sync', { whole: true });
      sandbox.changeRandom(60);
      await serveOrders(engine, 'sync', { whole: true });
      const { rows } = await database.query<{ count: number }>(`select count(*)::int as count from ${filled}`);
      expect(rows[0]?.count).toBeGreaterThan(0);
      // What lies beside the secrets is kept.
      expect(await findText(database, '"profile"')).not.toEqual([]);
      expect(await findText(database, 'sandbox-secret')).toEqual([]);
      expect(await findText(database, '$2y$10$')).toEqual([]);
    } finally {
      await engine.close();
      await sandbox.close();
    }
  });
});
