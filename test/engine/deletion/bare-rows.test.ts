import { expect, test } from 'vitest';
import { isDraft } from '../../../sandbox/data/table.ts';
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts';
import type { Variants } from '../../../sandbox/variants/variants.ts';
import { MINUTE } from '../../../src/clock.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { some } from '../../support/long.ts';
import { openEngine, serveOrders } from '../../support/source.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

interface Given {
  readonly database: Database;
  readonly sandbox: Sandbox;
  /** Inserts a row that equals the first one but for `change`; returns its id. */
  readonly insertEqual: (change?: object) => number;
  readonly edit: (id: number) => void;
  readonly sync: (times?: number) => Promise<void>;
  /** How many rows all runs together deleted or updated. */
  readonly total: (what: 'deleted' | 'updated') => Promise<number | undefined>;
  /** How the warehouse differs from the source. */
  readonly differing: () => Promise<string[]>;
}

/** A list of transactions whose rows have no id. */
async function withBareRows(
  variants: Partial<Variants>,
  work: (given: Given) => Promise<void>,
  pageSize: number | 'auto' = 20,
): Promise<void> {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const sandbox = await openSandbox({
      size: { customers: 5, invoices: 5, transactions: 60 },
      rateLimit: 0,
      clock,
      variants: { 'transaction-ids': 'no', ...variants },
    });
    const [first] = [...sandbox.rows('transactions')];
    const engine = await openEngine(database, sandbox, {
      ...{ clock, limit: 10_000, pageSize, resources: ['transactions'] as const },
    });
    await work({
      database,
      sandbox,
      insertEqual: change => sandbox.insert('transactions', { ...first, id: undefined, ...change } as never).id,
      edit: id => sandbox.update('transactions', id, { description: 'edited' } as never),
      async sync(times = 1) {
        for (let run = 0; run < times; run++) {
          await serveOrders(engine, 'sync', { whole: true });
          await clock.advance(15 * MINUTE);
        }
      },
      async total(what) {
        const { rows } = await database.query<{ rows: number }>(`select sum(${what})::int as rows from sluice.runs`);
        return rows[0]?.rows;
      },
      differing: () => differences(database, sandbox, 5, ['transactions']),
    });
    await engine.close();
    await sandbox.close();
  });
}

test.each(some(['whole', 'no-meta'] as const, 1))(
  'rows without an id that only the unfiltered list shows stay, and edited ones are replaced (%s)',
  async paging => {
    await withBareRows(
      { drafts: 'hidden', paging },
      async ({ sandbox, edit, sync, total, differing }) => {
        const rows = [...sandbox.rows('transactions')];
        expect(rows.some(({ id }) => isDraft(id))).toBe(true);
        // Until the date filter is known to leave rows out, each reading of a window is in doubt.
        for (let round = 0; round < 3; round++) {
          await sync();
          expect([await total('deleted'), await differing()]).toEqual([0, []]);
        }
        for (const row of [rows.find(({ id }) => isDraft(id)), rows.find(({ id }) => !isDraft(id))])
          edit(row?.id as number);
        await sync(2);
        expect([await total('deleted'), await differing()]).toEqual([2, []]);
      },
      'auto',
    );
  },
);

test('rows without an id that equal each other keep their unknown fields, on whichever page of the unfiltered list they come', async () => {
  const variants = { order: 'shuffled', paging: 'no-meta', 'extra-fields': 'yes' } as const;
  await withBareRows(variants, async ({ sandbox, insertEqual, edit, sync, total, differing }) => {
    // They differ in nothing that the job declares.
    for (let equal = 0; equal < 12; equal++) insertEqual();
    await sync(3);
    const before = await total('updated');
    // It is there twice until the unfiltered list lacks it, which is asked for.
    edit([...sandbox.rows('transactions')][5]?.id as number);
    await sync(3);
    expect(await differing()).toEqual([]);
    expect(await total('updated')).toBe(before);
  });
});

test.each(['no-meta', 'whole'] as const)(
  'of equal rows that only the unfiltered list shows, those stay that are still there (%s)',
  async paging => {
    const variants = { drafts: 'hidden', paging, 'extra-fields': 'yes' } as const;
    await withBareRows(variants, async ({ database, sandbox, insertEqual, sync }) => {
      const drafts: number[] = [];
      while (drafts.length < 4) {
        const id = insertEqual({ description: 'equal' });
        // Every third has no number.
        if (isDraft(id) && id % 3 !== 0) drafts.push(id);
        else sandbox.remove('transactions', id);
      }
      // Which is which is told by a field that the job does not declare.
      const there = async () => {
        await sync(4);
        const { rows } = await database.query<{ number: string }>(
          "select _extra #>> '{custom_fields,vat_id}' as number from warehouse.transactions where description = 'equal'",
        );
        return rows.map(({ number }) => number).sort();
      };
      expect(await there()).toEqual(drafts.map(id => `XX${id}`).sort());
      sandbox.remove('transactions', drafts.shift() as number);
      expect(await there()).toEqual(drafts.map(id => `XX${id}`).sort());
    });
  },
);

test('an unknown field of a row is stored as it is now, though the list fills its page and is read behind its end', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    let project = '';
    const sandbox = await openSandbox({
      size: { customers: 5, invoices: 5, transactions: 5 },
      rateLimit: 0,
      clock,
      variants: { 'other-ids': 'no' },
      addFields: (_list, row, rendered) => ({
        ...rendered,
        project: (row as { id: number }).id === 3 ? project : null,
      }),
    });
    const pageSize = [...sandbox.rows('users')].length;
    const engine = await openEngine(database, sandbox, { clock, limit: 10_000, pageSize, resources: ['users'] });
    for (const each of ['Alpha', 'Beta', 'Gamma']) {
      project = each;
      await serveOrders(engine, 'sync', { whole: true });
      const { rows } = await database.query(
        `select _extra->>'project' as project from warehouse.users where _extra->>'project' <> ''`,
      );
      expect(rows).toEqual([{ project: each }]);
      await clock.advance(15 * MINUTE);
    }
    await engine.close();
    await sandbox.close();
  });
});
