import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import type { LoopEvent } from '../../../src/engine/run/engine.ts';
import type { Database, Db } from '../../../src/warehouse/database/database.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

test('a row that goes missing while the missing rows are queried is confirmed by the same run', async () => {
  const sandbox = await openSandbox({ size: { customers: 100, invoices: 1, transactions: 1 }, rateLimit: 0 });
  await withDatabase(
    async database => {
      const slow = slowMissingRows(database);
      const options = { resources: ['customers'], pageSize: 20, concurrency: 2, onEvent: slow.onEvent } as const;
      const engine = await openEngine(slow.database, sandbox, options);
      await serveOrders(engine, 'sync');

      const ids = Array.from(sandbox.rows('customers'), ({ id }) => id).sort((a, b) => a - b);
      const [oldest, younger] = [ids[0] as number, ids[70] as number];
      // An early page shows the row that was missing; the last page lacks the row that was deleted.
      await database.query(
        `insert into sluice.missing (source, resource, key, slice, since) values ('main', 'customers', $1, 'id ..', sluice.now())`,
        [younger],
      );
      sandbox.remove('customers', oldest);
      slow.beginWith(younger);
      expect(await serveOrders(engine, 'backfill')).toMatchObject([{ state: 'done', deleted: 1 }]);
      expect(slow.wasLate()).toBe(true);
      const all = await differences(database, sandbox, 8, ['customers']);
      expect(all).toEqual([]);
      await engine.close();
    },
    { connections: 2 },
  );
  await sandbox.close();
});

/**
 * Once the row that `beginWith` names was shown, the next query of missing rows sees the table as that commit left it, and its result
 * arrives after the oldest customers were read. Later commits wait until Postgres has answered it.
 */
function slowMissingRows(real: Database) {
  const answered = createGate();
  const arrival = createGate();
  let state: 'idle' | 'shown' | 'asked' | 'late' = 'idle';
  let awaited: string | null = null;
  let late: unknown;
  const kysely = real.kysely.withPlugin({
    transformQuery: ({ node, queryId }) => {
      if (state === 'shown' && JSON.stringify(node).includes('from sluice.missing m')) {
        state = 'asked';
        late = queryId;
      }
      return node;
    },
    transformResult: async ({ queryId, result }) => {
      if (queryId === late) {
        answered.open();
        await arrival.opened;
      }
      return result;
    },
  }) as unknown as Db;
  const database: Database = {
    ...real,
    kysely,
    transaction: async (fn, settings) => {
      if (state === 'shown' || state === 'asked') await answered.opened;
      return real.transaction(fn, settings);
    },
  };
  const onEvent = (event: LoopEvent) => {
    if (event.kind !== 'committed') return;
    const { rows, end } = event.step;
    if (state === 'idle' && rows.some(({ key }) => key === awaited)) state = 'shown';
    if (state !== 'asked' || end?.kind !== 'proven' || end.slice.by !== 'id' || end.slice.from !== null) return;
    state = 'late';
    setImmediate(arrival.open);
  };
  return {
    database,
    onEvent,
    beginWith: (key: number) => {
      awaited = String(key);
    },
    wasLate: () => state === 'late',
  };
}

function createGate(): { opened: Promise<void>; open: () => void } {
  let open = () => {};
  const opened = new Promise<void>(resolve => {
    open = resolve;
  });
  return { opened, open };
}
