import { expect, test } from 'vitest';
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts';
import { HOUR, SECOND } from '../../../src/clock.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { oneGrantAtATime, openEngine, serveOrders } from '../../support/source.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';

interface Given {
  readonly sandbox: Sandbox;
  readonly clock: VirtualClock;
  readonly database: Database;
  readonly sync: () => Promise<(string | null)[]>;
  /** Runs once the next list of customers is committed. */
  afterList: (() => void) | null;
  readonly deleted: () => Promise<string[]>;
  /** Requests for the address of a customer so far. */
  readonly asked: () => string[];
  readonly trait: (name: string) => Promise<string | undefined>;
}

async function withCustomers(fn: (given: Given) => Promise<void>): Promise<void> {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const sandbox = await openSandbox({ size: { customers: 30, invoices: 1, transactions: 1 }, rateLimit: 0, clock });
    const given: Given = {
      sandbox,
      clock,
      database,
      afterList: null,
      async sync() {
        await clock.advance(SECOND);
        return (await serveOrders(engine, 'sync')).map(({ state, reason }) => reason ?? state);
      },
      async deleted() {
        const { rows } = await database.query<{ key: string }>(
          "select key from warehouse.row_history where ended_by = 'deleted' order by key::int",
        );
        return rows.map(({ key }) => key);
      },
      asked: () => sandbox.stats.requests.flatMap(({ path }) => /customers\/(\d+)$/.exec(path)?.[1] ?? []),
      async trait(name) {
        const { rows } = await database.query<{ value: string }>('select value from sluice.traits where trait = $1', [
          name,
        ]);
        return rows[0]?.value;
      },
    };
    const engine = await openEngine(database, sandbox, {
      clock,
      limit: 100_000,
      resources: ['customers'],
      wrapBudget: oneGrantAtATime(clock),
      onEvent: event => {
        if (event.kind !== 'committed' || event.step.slice.by === 'one') return;
        given.afterList?.();
        given.afterList = null;
      },
    });
    await given.sync();
    await fn(given);
    await engine.close();
    await sandbox.close();
  });
}

/** The next reading lacks every second customer. */
function hideOnce(given: Given): void {
  given.sandbox.setVariants({ visible: 'half' });
  given.afterList = () => given.sandbox.setVariants({ visible: 'all' });
}

test.each(['404', '403'] as const)(
  'live customers that one reading lacks stay although their address answers %s, as it does for every customer',
  async status => {
    await withCustomers(async given => {
      given.sandbox.setVariants({ 'customer-address': status });
      hideOnce(given);
      expect(await given.sync()).toEqual(['done']);
      expect(await given.deleted()).toEqual([]);
      expect(await given.trait('address')).toBe('no 404');
      expect(await differences(given.database, given.sandbox, 5, ['customers'])).toEqual([]);
      given.sandbox.remove('customers', 7);
      expect(await given.sync()).toEqual(['done']);
      expect(await given.sync()).toEqual(['done']);
      expect(await given.deleted()).toEqual(['7']);
    });
  },
);

test('a 404 is believed once the address has answered for one customer that the list shows, asked for once an hour', async () => {
  await withCustomers(async given => {
    const { sandbox, clock } = given;
    for (const id of [7, 17]) sandbox.remove('customers', id);
    expect(await given.sync()).toEqual(['done']);
    expect(await given.deleted()).toEqual(['7', '17']);
    expect(given.asked()).toEqual(['17', '16', '7']);
    sandbox.remove('customers', 20);
    await given.sync();
    expect(given.asked().slice(3)).toEqual(['20']);
    await clock.advance(HOUR);
    sandbox.remove('customers', 24);
    await given.sync();
    expect(given.asked().slice(4)).toEqual(['24', '23']);
    expect(await given.deleted()).toEqual(['7', '17', '20', '24']);
  });
});

test('an address that was switched off after it had answered is not believed later', async () => {
  await withCustomers(async given => {
    const { sandbox, clock } = given;
    sandbox.remove('customers', 7);
    await given.sync();
    await clock.advance(HOUR);
    sandbox.setVariants({ 'customer-address': '404' });
    hideOnce(given);
    expect(await given.sync()).toEqual(['done']);
    expect(await given.deleted()).toEqual(['7']);
  });
});

test('a customer that was deleted since the list showed it does not speak against the address: another is asked for', async () => {
  await withCustomers(async given => {
    const { sandbox } = given;
    sandbox.remove('customers', 7);
    given.afterList = () => {
      for (const id of [6, 8]) sandbox.remove('customers', id);
    };
    await given.sync();
    expect(given.asked()).toEqual(['7', '6', '5']);
    expect(await given.deleted()).toEqual(['7']);
    await given.sync();
    expect(await given.deleted()).toEqual(['6', '7', '8']);
    expect(await given.trait('address')).toBe(undefined);
  });
});

test('a customer that the list shows again contradicts its address, which has to answer for another before it is believed', async () => {
  await withCustomers(async given => {
    const { sandbox } = given;
    sandbox.remove('customers', 7);
    await given.sync();
    sandbox.restore('customers', 7);
    await given.sync();
    expect(await given.trait('address answered')).toBe('in doubt');
    sandbox.setVariants({ 'customer-address': '404' });
    hideOnce(given);
    await given.sync();
    expect(await given.deleted()).toEqual([]);
    expect(await differences(given.database, sandbox, 5, ['customers'])).toEqual([]);
  });
});
