import { expect, test } from 'vitest';
import { parseVariants } from '../../../sandbox/parse/parse-variants.ts';
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { openProxy, type ProxiedAnswer } from '../../conformance/tests/proxy.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import type { TestResource } from '../../support/resources.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

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
    const engine = await openEngine(database, { ...sandbox, url }, { limit: 100_000, resources: [resource] });
    await fn({
      sandbox,
      database,
      answer: next => {
        change = next;
      },
      sync: async () => (await serveOrders(engine, 'sync', { whole: true })).map(order => order.reason ?? order.state),
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

test.each(['paging=whole', 'paging=meta,order=id-desc', 'paging=meta,order=shuffled'])(
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
      const data = given.body.data.map(({ items: _, notes: __, date: ___, ...row }: Record<string, unknown>) => row);
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
