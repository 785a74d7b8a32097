import { expect, test } from 'vitest';
import { isDraft } from '../../../sandbox/data/table.ts';
import { parseVariants } from '../../../sandbox/parse/parse-variants.ts';
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts';
import type { Variants } from '../../../sandbox/variants/variants.ts';
import { MINUTE } from '../../../src/clock.ts';
import type { Engine } from '../../../src/engine/run/engine.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { long } from '../../support/long.ts';
import { openEngine, serveOrders, serveTick } from '../../support/source.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';

test('a service deletes no row that only the unfiltered list shows, although all windows lack it', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const sandbox = await openSandbox({
      size: { customers: 5, invoices: 5, transactions: 500 },
      clock,
      variants: { drafts: 'hidden', order: 'updated-desc' },
    });
    const engine = await openEngine(database, sandbox, {
      clock,
      limit: 400,
      pageSize: 20,
      resources: ['transactions'],
    });
    const tick = async () => {
      await serveTick(engine);
      await clock.advance(15 * MINUTE);
    };
    // Without a draft, windows are all that the list needs.
    for (const { id } of [...sandbox.rows('transactions')]) if (isDraft(id)) sandbox.remove('transactions', id);
    await tick();

    // The newest page shows a draft once, then others push it off.
    const [first] = [...sandbox.rows('transactions')];
    let id = 1;
    while (!isDraft(id)) id = sandbox.insert('transactions', { ...first, id: undefined } as never).id;
    await tick();
    const stored = () => database.query('select from warehouse.transactions where id = $1', [id]);
    expect((await stored()).rows).toHaveLength(1);
    for (let round = 0; round < 8; round++) {
      const others = [...sandbox.rows('transactions')].filter(row => !isDraft(row.id));
      for (const row of others.slice(25 * round, 25 * round + 25))
        sandbox.update('transactions', row.id, { description: `round ${round}` } as never);
      await tick();
    }
    expect((await stored()).rows).toHaveLength(1);
    await serveOrders(engine, 'sync', { whole: true });
    expect(await differences(database, sandbox, 5, ['transactions'])).toEqual([]);
    await engine.close();
    await sandbox.close();
  });
});

/** A list of transactions without a draft, read in full, which grows by a row every so many requests. One row in eleven is removed as a draft. */
async function withGrowingList(
  work: (given: {
    clock: VirtualClock;
    database: Database;
    engine: Engine;
    sandbox: Sandbox;
    insert: (isWanted: (id: number) => boolean) => number;
    growEvery: (requests: number) => void;
  }) => Promise<void>,
  variants: Partial<Variants> = {},
  transactions = 500,
): Promise<void> {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const sandbox = await openSandbox({
      size: { customers: 5, invoices: 5, transactions },
      rateLimit: 0,
      clock,
      variants: { drafts: 'hidden', order: 'updated-desc', ...variants },
    });
    for (const { id } of [...sandbox.rows('transactions')]) if (isDraft(id)) sandbox.remove('transactions', id);
    const rows = [...sandbox.rows('transactions')];
    let inserted = 0;
    const insert = (isWanted: (id: number) => boolean): number => {
      for (;;) {
        const like = rows[(inserted++ * 37) % rows.length];
        const { id } = sandbox.insert('transactions', { ...like, id: undefined } as never);
        if (isWanted(id)) return id;
        sandbox.remove('transactions', id);
      }
    };
    let requests = 0;
    let every = Number.POSITIVE_INFINITY;
    const engine = await openEngine(database, sandbox, {
      clock,
      limit: 400,
      pageSize: 20,
      resources: ['transactions'],
      wrapBudget: ledger => ({
        ...ledger,
        take: async (lane, want) => {
          await clock.advance(1);
          if (++requests % every === 0) insert(id => !isDraft(id));
          return ledger.take(lane, want);
        },
      }),
    });
    await serveOrders(engine, 'sync', { whole: true });
    const growEvery = (requests: number) => {
      every = requests;
    };
    await work({ clock, database, engine, sandbox, insert, growEvery });
    await engine.close();
    await sandbox.close();
  });
}

const isStored = async (database: Database, id: number): Promise<boolean> =>
  (await database.query('select from warehouse.transactions where id = $1', [id])).rows.length > 0;

/** Other rows push it off the newest page. */
function editOthers(sandbox: Sandbox, from: number): void {
  const others = [...sandbox.rows('transactions')].filter(({ id }) => !isDraft(id)).slice(from, from + 40);
  for (const { id } of others) sandbox.update('transactions', id, { description: `edited after ${from}` } as never);
}

test('a count that is older than the windows deletes no row that they lack, however much the list grows meanwhile', async () => {
  await withGrowingList(async ({ clock, database, engine, sandbox, insert, growEvery }) => {
    const draft = insert(isDraft);
    await serveTick(engine);
    expect(await isStored(database, draft)).toBe(true);
    editOthers(sandbox, 0);
    growEvery(5);
    for (let repair = 0; repair < 3; repair++) {
      await clock.advance(15 * MINUTE);
      await serveOrders(engine, 'verify', { repair: true });
      expect(await isStored(database, draft)).toBe(true);
    }
  });
});

long.each(['matching', 'unfiltered'] as const)(
  'nor does one that other deletions, which no reading has noticed yet, have made smaller (totals: %s)',
  async totals => {
    await withGrowingList(
      async ({ clock, database, engine, sandbox, insert }) => {
        const draft = insert(isDraft);
        await serveTick(engine);
        for (let round = 0; round < 12; round++) {
          editOthers(sandbox, 30 * round);
          const oldest = [...sandbox.rows('transactions')].find(({ id }) => !isDraft(id));
          sandbox.remove('transactions', (oldest as { id: number }).id);
          await clock.advance(15 * MINUTE);
          await serveTick(engine, 10);
          expect(await isStored(database, draft)).toBe(true);
        }
      },
      { totals },
    );
  },
);

long('once the windows are counted with fewer rows than the list, no tick asks for that count again', async () => {
  await withGrowingList(async ({ clock, database, engine, sandbox, insert }) => {
    const draft = insert(isDraft);
    await serveTick(engine);
    for (const from of [0, 40, 80]) {
      editOthers(sandbox, from);
      await clock.advance(15 * MINUTE);
      await serveTick(engine);
    }
    const requests: number[] = [];
    for (let tick = 0; tick < 4; tick++) {
      await clock.advance(15 * MINUTE);
      if (tick < 2) await serveOrders(engine, 'backfill');
      const before = sandbox.stats.total;
      await serveTick(engine, 0, null);
      requests.push(sandbox.stats.total - before);
    }
    expect(await isStored(database, draft)).toBe(true);
    expect(Math.max(...requests.slice(2))).toBeLessThanOrEqual(2);
  });
});

test('a list that stops earlier than its windows loses none of the rows that they show, although it shows drafts that they leave out', async () => {
  await withGrowingList(
    async ({ clock, database, engine, sandbox, insert }) => {
      const draft = insert(isDraft);
      for (let run = 0; run < 4; run++) {
        await serveOrders(engine, 'sync', { whole: true });
        await clock.advance(15 * MINUTE);
        const live = new Set(Array.from(sandbox.rows('transactions'), ({ id }) => String(id)));
        const { rows } = await database.query<{ key: string }>('select key from warehouse.row_history');
        expect(rows.filter(({ key }) => live.has(key))).toEqual([]);
      }
      expect(await isStored(database, draft)).toBe(true);
    },
    parseVariants('most-rows=218,most-rows-of=counted'),
    250,
  );
});

test('a draft at the newest end of a list without a count is not deleted, nor does it keep another row from being deleted', async () => {
  await withGrowingList(
    async ({ clock, database, engine, sandbox, insert }) => {
      const draft = insert(isDraft);
      const [, , gone] = [...sandbox.rows('transactions')] as [unknown, unknown, { id: number }];
      await serveTick(engine);
      sandbox.remove('transactions', gone.id);
      for (let repair = 0; repair < 3; repair++) {
        await serveOrders(engine, 'verify', { repair: true });
        expect(await isStored(database, draft)).toBe(true);
        await clock.advance(15 * MINUTE);
        await serveTick(engine);
      }
      expect(await isStored(database, gone.id)).toBe(false);
      const { rows } = await database.query<{ key: string }>('select key from warehouse.row_history');
      expect(rows).toEqual([{ key: String(gone.id) }]);
    },
    { paging: 'no-meta', order: 'id-desc' },
    80,
  );
});

long('nor is one that other rows have pushed off the newest end', async () => {
  await withGrowingList(
    async ({ clock, database, engine, sandbox, insert }) => {
      const draft = insert(isDraft);
      await serveTick(engine);
      expect(await isStored(database, draft)).toBe(true);
      const gone = [...sandbox.rows('transactions')].findLast(({ id }) => !isDraft(id)) as { id: number };
      for (let round = 0; round < 3; round++) {
        editOthers(sandbox, 40 * round);
        if (round === 0) sandbox.remove('transactions', gone.id);
        await clock.advance(15 * MINUTE);
        await serveOrders(engine, 'sync', { whole: true });
        expect(await isStored(database, draft)).toBe(true);
      }
      expect(await isStored(database, gone.id)).toBe(false);
    },
    { paging: 'no-meta' },
    160,
  );
});

test('rows that the date filter leaves out keep no other row from being deleted, where one answer shows the whole list', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const sandbox = await openSandbox({
      size: { customers: 5, invoices: 5, transactions: 150 },
      rateLimit: 0,
      clock,
      variants: { drafts: 'hidden', paging: 'whole' },
    });
    const engine = await openEngine(database, sandbox, { clock, resources: ['transactions'], lagMs: MINUTE });
    const sync = async () => {
      await serveOrders(engine, 'sync', { whole: true });
      await clock.advance(5 * MINUTE);
    };
    await sync();
    // The first days of the year are windows of their own: on this one, the draft is all there is.
    const [like, gone] = [...sandbox.rows('transactions')].filter(({ id }) => !isDraft(id)) as { id: number }[];
    let id = 1;
    while (!isDraft(id))
      id = sandbox.insert('transactions', { ...like, id: undefined, date: '2026-01-05' } as never).id;
    await sync();
    sandbox.remove('transactions', (gone as { id: number }).id);
    for (let run = 0; run < 4; run++) await sync();
    expect(await differences(database, sandbox, 5, ['transactions'])).toEqual([]);
    await engine.close();
    await sandbox.close();
  });
});

test('a deleted row leaves a list that grows all the time', async () => {
  await withGrowingList(async ({ clock, database, engine, sandbox, growEvery }) => {
    const [, , gone] = [...sandbox.rows('transactions')] as [unknown, unknown, { id: number }];
    sandbox.remove('transactions', gone.id);
    growEvery(25);
    // A run whose count changes between the two that compare proves nothing; which one that is depends on the order of answers.
    for (let run = 0; run < 6 && (await isStored(database, gone.id)); run++) {
      await clock.advance(15 * MINUTE);
      await serveOrders(engine, 'sync', { whole: true });
    }
    expect(await isStored(database, gone.id)).toBe(false);
  });
});
