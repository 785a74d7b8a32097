import { expect, test } from 'vitest';
import { parseVariants } from '../../../sandbox/parse/parse-variants.ts';
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { openProxy, type ProxiedAnswer } from '../../conformance/tests/proxy.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { some } from '../../support/long.ts';
import type { TestResource } from '../../support/resources.ts';
import { oneGrantAtATime, openEngine, serveOrders } from '../../support/source.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const SIZE = { customers: 20, invoices: 80, transactions: 20 };

type Change = (answer: ProxiedAnswer, asked: { path: string; query: URLSearchParams }) => ProxiedAnswer;
interface Given {
  readonly sandbox: Sandbox;
  readonly database: Database;
  /** The answers from now on. */
  readonly answer: (change: Change) => void;
  /** Syncs everything; returns how each order ended. */
  readonly sync: () => Promise<string[]>;
}

async function withAnswers(
  variants: string,
  resource: TestResource,
  fn: (given: Given) => Promise<void>,
): Promise<void> {
  const sandbox = await openSandbox({ size: SIZE, rateLimit: 0, variants: parseVariants(variants) });
  let change: Change = answer => answer;
  const url = await openProxy(sandbox, (answer, asked) => change(answer, asked));
  await withDatabase(async database => {
    // The source fails again and again, and each attempt waits longer.
    const clock = await createVirtualClock(database);
    const options = { clock, wrapBudget: oneGrantAtATime(clock), limit: 100_000, resources: [resource] };
    const engine = await openEngine(database, { ...sandbox, url }, options);
    await fn({
      sandbox,
      database,
      answer: next => {
        change = next;
      },
      sync: async () => {
        await clock.advance(1000);
        return (await serveOrders(engine, 'sync', { whole: true })).map(order => order.reason ?? order.state);
      },
    });
    await engine.close();
  });
  await sandbox.close();
}

const deletedKeys = async (database: Database): Promise<string[]> =>
  (
    await database.query<{ key: string }>(
      `select key from warehouse.row_history where ended_by = 'deleted' order by key::int`,
    )
  ).rows.map(({ key }) => key);

test.each(some(['paging=whole', 'paging=meta,order=id-desc', 'paging=meta,order=shuffled'], 1))(
  'a list that leaves out open tickets, which the filter by status shows, deletes none of them (%s)',
  variants =>
    withAnswers(variants, 'tickets', async ({ sandbox, database, answer, sync }) => {
      await sync();
      const open = [...sandbox.rows('tickets')].filter(({ status }) => status === 'Open').map(({ id }) => id);
      expect(open.length).toBeGreaterThan(6);
      const hidden = new Set(open.slice(2, 5));
      const gone = open[6] as number;
      answer((given, { path, query }) => {
        if (path !== '/api/v2/tickets' || query.has('status')) return given;
        const { data, meta } = given.body;
        const left = data.filter(({ id }: { id: number }) => !hidden.has(id));
        return {
          ...given,
          body: {
            ...given.body,
            data: left,
            ...(meta && { meta: { ...meta, total_records: meta.total_records - hidden.size } }),
          },
        };
      });
      sandbox.remove('tickets', gone);
      for (let times = 0; times < 5; times++) await sync();
      expect(await deletedKeys(database)).toEqual([String(gone)]);
    }),
);

test('a filter that shows records without some of their fields empties none of them', () =>
  withAnswers('paging=meta', 'invoices', async ({ sandbox, database, answer, sync }) => {
    expect(await sync()).toEqual(['done']);
    answer((given, { path, query }) => {
      if (path !== '/api/v2/invoices' || !query.has('customer_id')) return given;
      const isLight = ([field]: [string, unknown]) => !['items', 'notes', 'date'].includes(field);
      const data = given.body.data.map((row: object) => Object.fromEntries(Object.entries(row).filter(isLight)));
      return { ...given, body: { ...given.body, data } };
    });
    const counted = [...sandbox.rows('invoices')].map(({ customer_id }) => customer_id);
    const busy = [...new Set(counted)].find(id => counted.filter(each => each === id).length > 2);
    const gone = [...sandbox.rows('invoices')].find(({ customer_id }) => customer_id === busy)?.id as number;
    sandbox.remove('invoices', gone);
    for (let times = 0; times < 2; times++) expect(await sync()).toEqual(['done']);
    expect(await deletedKeys(database)).toEqual([String(gone)]);
    expect(await differences(database, sandbox, 10, ['invoices'])).toEqual([]);
    const versions = await database.query(`select key from warehouse.row_history where ended_by <> 'deleted'`);
    expect(versions.rows).toEqual([]);
    const undated = await database.query(`select from sluice.traits where trait in ('undated', 'filter customer_id')`);
    expect(undated.rows).toEqual([]);
  }));

/** Deletes a customer's invoices, which the list of that customer then no longer tells. */
async function withoutInvoicesOf(given: Given, says: (asked: ProxiedAnswer) => ProxiedAnswer): Promise<void> {
  const { sandbox, database, answer, sync } = given;
  expect(await sync()).toEqual(['done']);
  const [first] = sandbox.rows('invoices');
  const customer = first?.customer_id as number;
  const gone = [...sandbox.rows('invoices')].filter(({ customer_id }) => customer_id === customer).map(({ id }) => id);
  expect(gone.length).toBeGreaterThan(1);
  for (const id of gone) sandbox.remove('invoices', id);
  let asked = 0;
  answer((given, { path, query }) => {
    if (path !== '/api/v2/invoices' || query.get('customer_id') !== String(customer)) return given;
    asked += 1;
    return says(given);
  });
  for (let times = 0; times < 4; times++) expect(await sync()).toEqual(['done']);
  expect(await deletedKeys(database)).toEqual(gone.sort((a, b) => a - b).map(String));
  expect(await differences(database, sandbox, 10, ['invoices'])).toEqual([]);
  expect(asked).toBeLessThan(12);
}

const INVALID = {
  success: false,
  message: 'Validation failed',
  errors: { customer_id: ['The selected customer is invalid.'] },
};

const WRONG_KEY = { success: false, message: 'Invalid API key or unauthorized access' };

test.each([
  ['is refused', (): ProxiedAnswer => ({ status: 422, body: INVALID })],
  ['is refused as if the key were wrong', (): ProxiedAnswer => ({ status: 401, body: WRONG_KEY })],
  ['fails', (): ProxiedAnswer => ({ status: 500, body: { success: false, message: 'Server error' } })],
  [
    'is counted with a row too many',
    ({ body, ...given }: ProxiedAnswer): ProxiedAnswer => ({
      ...given,
      body: { ...body, meta: { ...body.meta, total_records: 1 } },
    }),
  ],
] as const)('rows of a customer whose list %s are confirmed in another way', (_what, says) =>
  withAnswers('paging=meta', 'invoices', given => withoutInvoicesOf(given, says)),
);

test.each([200, 401])(
  'deleted customers whose addresses answer as if the key were wrong (%i) are confirmed in another way, unless the list does so, too',
  status =>
    withAnswers('paging=meta', 'customers', async ({ sandbox, database, answer, sync }) => {
      await sync();
      for (const id of [4, 7]) sandbox.remove('customers', id);
      let revokes = true;
      let isRevoked = false;
      answer(given => {
        isRevoked ||= revokes && given.status === 404;
        return isRevoked || given.status === 404 ? { status, body: WRONG_KEY } : given;
      });
      await expect(sync()).rejects.toMatchObject({ kind: 'unauthorized' });
      expect((await database.query(`select from sluice.traits where trait = 'address'`)).rows).toEqual([]);
      revokes = false;
      isRevoked = false;
      for (let times = 0; times < 3; times++) expect(await sync()).toEqual(['done']);
      expect(await deletedKeys(database)).toEqual(['4', '7']);
    }),
);
