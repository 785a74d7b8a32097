import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { MINUTE } from '../../../src/clock.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders, serveTick } from '../../support/source.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const isDraft = (id: number) => id % 11 === 0;

test('a service deletes no row that only the unfiltered list shows, although all windows lack it', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const sandbox = await openSandbox({
      size: { customers: 5, invoices: 5, transactions: 500 },
      clock,
      variants: { drafts: 'hidden', order: 'updated-desc' },
    });
    const engine = await openEngine(database, sandbox, { clock, pageSize: 20, resources: ['transactions'] });
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

test('a count of the source that is older than the windows deletes no row that they lack, however much the list grows meanwhile', async () => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const sandbox = await openSandbox({
      size: { customers: 5, invoices: 5, transactions: 500 },
      rateLimit: 0,
      clock,
      variants: { drafts: 'hidden', order: 'updated-desc' },
    });
    for (const { id } of [...sandbox.rows('transactions')]) if (isDraft(id)) sandbox.remove('transactions', id);
    const rows = [...sandbox.rows('transactions')];
    let inserted = 0;
    const insert = (): number => {
      const like = rows[(inserted++ * 37) % rows.length];
      return sandbox.insert('transactions', { ...like, id: undefined } as never).id;
    };
    let requests = Number.NaN;
    // More often, no window could be read to its end.
    const grow = () => {
      if (++requests % 5 !== 0) return;
      for (let id = insert(); isDraft(id); id = insert()) sandbox.remove('transactions', id);
    };
    const engine = await openEngine(database, sandbox, {
      clock,
      limit: 1_000,
      pageSize: 20,
      resources: ['transactions'],
      wrapBudget: ledger => ({
        ...ledger,
        take: (lane, want) =>
          clock
            .advance(1)
            .then(grow)
            .then(() => ledger.take(lane, want)),
      }),
    });
    await serveOrders(engine, 'sync', { whole: true });
    let draft = insert();
    while (!isDraft(draft)) draft = insert();
    await serveTick(engine);
    const stored = async () => (await database.query('select from warehouse.transactions where id = $1', [draft])).rows;
    expect(await stored()).toHaveLength(1);
    for (const { id } of rows.slice(0, 40))
      if (!isDraft(id)) sandbox.update('transactions', id, { description: 'edited' } as never);
    requests = 0;
    for (let repair = 0; repair < 3; repair++) {
      await clock.advance(15 * MINUTE);
      await serveOrders(engine, 'verify', { repair: true });
      expect(await stored()).toHaveLength(1);
    }
    await engine.close();
    await sandbox.close();
  });
});
