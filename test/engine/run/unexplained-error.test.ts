import { expect, test } from 'vitest';
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts';
import { HOUR, SECOND } from '../../../src/clock.ts';
import type { Engine } from '../../../src/engine/run/engine.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { some } from '../../support/long.ts';
import { openEngine, serveOrders, serveTick } from '../../support/source.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';

const SIZE = { customers: 30, invoices: 300, transactions: 300 };

/** Makes Postgres raise an error for what is written to a table. Returns what takes that back. */
async function refuseIn(database: Database, table: string, code: string, when = 'true') {
  await database.query(`create function public.refuse() returns trigger language plpgsql as $$ begin
    raise exception 'this database refuses it' using errcode = '${code}'; end $$`);
  await database.query(`create trigger refuse before insert or update on ${table} for each row
    when (${when}) execute function public.refuse()`);
  return async () => {
    await database.query(`drop trigger refuse on ${table}`);
    await database.query('drop function public.refuse()');
  };
}

type Break = (database: Database, engine: Engine) => Promise<() => Promise<unknown>>;

const onRead = (error: () => never): Break => {
  return async (_database, engine) => {
    const customers = engine.resources.find(({ name }) => name === 'customers');
    const parse = customers?.parse;
    Object.assign(customers ?? {}, { parse: error });
    return () => Promise.resolve(Object.assign(customers ?? {}, { parse }));
  };
};

const BREAKS: readonly (readonly [what: string, breaks: Break, told: string])[] = [
  [
    'an error that Postgres raises for its rows',
    database => refuseIn(database, 'warehouse.customers', 'P0001'),
    'this database refuses it (P0001)',
  ],
  [
    'a number out of range in its coverage',
    database => refuseIn(database, 'sluice.coverage', '22003', "new.resource = 'customers'"),
    'this database refuses it (22003)',
  ],
  [
    'a TypeError while its rows are parsed',
    onRead(() => {
      throw new TypeError('x is not a function');
    }),
    'x is not a function (TypeError)',
  ],
  [
    'a SyntaxError of BigInt',
    onRead(() => {
      throw new SyntaxError(String(BigInt('seventeen')));
    }),
    'Cannot convert seventeen to a BigInt (SyntaxError)',
  ],
  [
    'a key in its bookkeeping that is none, found before anything is read',
    async database => {
      await database.query(`insert into sluice.missing (source, resource, key, slice, since)
        values ('main', 'customers', 'seventeen', 'whole', sluice.now())`);
      return () => database.query("delete from sluice.missing where key = 'seventeen'");
    },
    '(22P02)',
  ],
];

test.each(some(BREAKS, 2))(
  'an unexplained error of one list fails that list alone: %s',
  async (_what, breaks, told) => {
    await withSource(async (database, sandbox, engine) => {
      const mend = await breaks(database, engine);
      const orders = await serveOrders(engine, 'sync');
      expect(orders.map(({ resource, state }) => [resource, state])).toEqual([
        ['customers', 'failed'],
        ['invoices', 'done'],
        ['transactions', 'done'],
      ]);
      expect(orders[0]?.reason).toContain('customers');
      expect(orders[0]?.reason).toContain(told);
      expect(orders[0]?.reason).toContain('report this');
      expect(await differences(database, sandbox, 5, ['invoices', 'transactions'])).toEqual([]);
      const { rows: unproven } = await database.query(
        "select from sluice.coverage where resource <> 'customers' and slice ~ '^(id|date|whole)' and proven_at is null",
      );
      expect(unproven).toEqual([]);

      await mend();
      expect((await serveOrders(engine, 'sync')).map(({ state }) => state)).toEqual(['done', 'done', 'done']);
      expect(await differences(database, sandbox)).toEqual([]);
    });
  },
);

test.each(some(BREAKS, 2))(
  'at ticks, it is tried again at the next one, and not before: %s',
  async (_what, breaks, told) => {
    await withSource(async (database, sandbox, engine) => {
      const clock = engine.clock as VirtualClock;
      const tick = async () => {
        await clock.advance(HOUR);
        const sent = sandbox.stats.total;
        await serveTick(engine);
        const { rows } = await database.query<{ resource: string; state: string; reason: string | null }>(
          `select distinct on (resource) resource, state, reason from sluice.runs where kind = 'slot' order by resource, id desc`,
        );
        return { runs: rows, sent: sandbox.stats.total - sent };
      };
      expect((await tick()).runs.map(({ state }) => state)).toEqual(['done', 'done', 'done']);
      const mend = await breaks(database, engine);
      sandbox.changeRandom(30);
      for (let time = 0; time < 2; time++) {
        const { runs, sent } = await tick();
        expect(runs.map(({ state }) => state)).toEqual(['failed', 'done', 'done']);
        expect(runs[0]?.reason).toContain(told);
        expect(sent).toBeLessThan(100);
      }
      await mend();
      expect((await tick()).runs.map(({ state }) => state)).toEqual(['done', 'done', 'done']);
      expect((await serveOrders(engine, 'sync', { whole: true })).map(({ state }) => state)).toEqual([
        'done',
        'done',
        'done',
      ]);
      expect(await differences(database, sandbox)).toEqual([]);
    });
  },
);

test('the record that Postgres refuses is put in quarantine, and the others of its list are stored', async () => {
  await withSource(async (database, sandbox, engine) => {
    const [first] = sandbox.rows('customers');
    for (const code of ['22003', '23514', '54000', '54001']) {
      const mend = await refuseIn(database, 'warehouse.customers', code, `new.id = ${first?.id}`);
      await (engine.clock as VirtualClock).advance(SECOND);
      const [customers] = await serveOrders(engine, 'sync');
      expect(customers?.state).toBe('done');
      expect(await differences(database, sandbox)).toEqual([`customers ${first?.id} is absent`]);
      const { rows } = await database.query(`select key, reasons from sluice.quarantine where resolved_at is null`);
      expect(rows).toEqual([{ key: String(first?.id), reasons: { '(record)': 'this database refuses it' } }]);
      await mend();
    }
    await (engine.clock as VirtualClock).advance(SECOND);
    await serveOrders(engine, 'sync', { whole: true });
    expect(await differences(database, sandbox)).toEqual([]);
  });
});

async function withSource(work: (database: Database, sandbox: Sandbox, engine: Engine) => Promise<void>) {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const sandbox = await openSandbox({ size: SIZE, rateLimit: 0, clock });
    const engine = await openEngine(database, sandbox, { clock });
    try {
      await work(database, sandbox, engine);
    } finally {
      await engine.close();
      await sandbox.close();
    }
  });
}
