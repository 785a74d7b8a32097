import { expect, test } from 'vitest';
import { parseVariants } from '../../../sandbox/parse/parse-variants.ts';
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { long, some } from '../../support/long.ts';
import type { TestResource } from '../../support/resources.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

/** What must hold whatever the source hides. */
async function check(database: Database, sandbox: Sandbox, resources: readonly TestResource[]): Promise<void> {
  const { rows: deleted } = await database.query<{ resource: TestResource; key: string }>(
    `select resource, key from warehouse.row_history where ended_by = 'deleted'`,
  );
  for (const resource of resources) {
    const here = new Set(Array.from(sandbox.rows(resource as 'tickets'), row => String(row.id)));
    const lost = deleted.filter(row => row.resource === resource && here.has(row.key)).map(({ key }) => key);
    expect(lost, `live rows of ${resource} that were deleted`).toEqual([]);
  }
  const { rows: complete } = await database.query<{ resource: TestResource; complete: boolean }>(
    `select resource, complete from sluice.complete('-infinity', 'infinity')`,
  );
  const claimed = complete.filter(row => row.complete).map(({ resource }) => resource);
  const absent = await differences(database, sandbox, 10_000, resources);
  for (const resource of claimed)
    expect(
      absent.filter(text => text.startsWith(`${resource} `) && text.endsWith('is absent')),
      `rows of ${resource}, which is called complete`,
    ).toEqual([]);
}

/** Ids of a list, oldest first. */
const idsOf = (sandbox: Sandbox, resource: 'tickets' | 'transactions' | 'invoices' | 'users'): number[] =>
  Array.from(sandbox.rows(resource), row => row.id).sort((a, b) => a - b);

/** Beside those that the simulation draws at random. */
const CAPS = [4, 11, 37, 300, 999, 2000];
const PAGINGS = ['whole', 'no-meta'];
const ORDERS = ['id-desc', 'id-asc'];
/** Each cap with each paging, in one order after the other: every two of them meet. Large lists take long, so each of these has one paging. */
const cases = PAGINGS.flatMap((paging, nth) =>
  CAPS.map((cap, index) => ({ cap, paging, order: ORDERS[(index + nth) % 2] as string })),
).filter(({ cap, paging }) => cap < 999 || paging === PAGINGS[CAPS.indexOf(cap) % 2]);

test.each(some(cases, 2))(
  'a list that shows at most $cap rows (paging=$paging, $order) loses no live row and is never called complete',
  async ({ cap, paging, order }) => {
    const variants = parseVariants(`paging=${paging},order=${order},most-rows=${cap}`);
    const sandbox = await openSandbox({
      size: { customers: 20, invoices: 20, transactions: 20 },
      rateLimit: 0,
      variants,
    });
    for (let count = idsOf(sandbox, 'tickets').length; count < cap + 9; count++) sandbox.insert('tickets', ticket());
    await withDatabase(async database => {
      const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['tickets'] });
      for (let round = 0; round < 3; round++) {
        const [done] = await serveOrders(engine, 'sync', { whole: true });
        await check(database, sandbox, ['tickets']);
        const { rows } = await database.query<{ complete: boolean }>(
          `select complete from sluice.complete('-infinity', 'infinity') where resource = 'tickets'`,
        );
        expect(rows, done?.reason ?? '').toEqual([{ complete: false }]);
        for (let n = 0; n < 5; n++) sandbox.insert('tickets', ticket());
        if (round === 0) for (const id of idsOf(sandbox, 'tickets').slice(-20, -17)) sandbox.remove('tickets', id);
      }
      await engine.close();
    });
    await sandbox.close();
  },
);

const ticket = () => ({
  customer_id: 1,
  subject: 'Printer',
  message: 'on fire',
  department_id: 1,
  priority: 'High',
  status: 'Open',
});

/** Rows spread over years, as many each month as no cap of these hides. */
function fill(sandbox: Sandbox, resource: 'transactions' | 'invoices', count: number): void {
  const dates = (n: number) =>
    `${2021 + (n % 5)}-${String(1 + (n % 12)).padStart(2, '0')}-${String(1 + (n % 28)).padStart(2, '0')}`;
  for (let n = 0; n < count; n++) {
    const date = dates(n);
    if (resource === 'transactions') sandbox.insert(resource, transaction(date));
    else sandbox.insert(resource, invoice(1 + (n % 3), date));
  }
}

const transaction = (date: string) => ({
  type: 'Income',
  account_id: 1,
  category_id: 1,
  amount: 5,
  description: 'Cash',
  date,
});
const invoice = (customer_id: number, date: string) => ({
  ...{
    invoice_number: `R-${date}`,
    customer_id,
    date,
    due_date: date,
    amount: 5,
    status: 'Unpaid',
    notes: null,
    items: [],
  },
});

test.each(some(['20000-bytes', '200-lines'] as const, 1))(
  'date windows show all of a list whose answers are cut at a weight (%s), and lose no live row',
  async weight => {
    const of = weight === '200-lines' ? 'invoices' : 'transactions';
    const variants = parseVariants(`paging=whole,order=date-desc,most-weight=${weight}`);
    const size = { customers: 20, invoices: 20, transactions: 20, [of]: 400 };
    const sandbox = await openSandbox({ size, rateLimit: 0, variants });
    // Rows of some months are heavier, so that fewer of them are shown.
    for (const { id, date } of [...sandbox.rows(of)]) {
      const isHeavy = String(date).slice(5, 7) <= '04';
      if (of === 'invoices') sandbox.update(of, id, { items: Array.from({ length: isHeavy ? 6 : 1 }, () => item) });
      else if (isHeavy) sandbox.update(of, id, { description: 'x'.repeat(300) });
    }
    await withDatabase(async database => {
      const engine = await openEngine(database, sandbox, { limit: 100_000, resources: [of] });
      for (let round = 0; round < 3; round++) {
        const [done] = await serveOrders(engine, 'sync', { whole: true });
        expect(done?.reason ?? done?.state).toBe('done');
        await check(database, sandbox, [of]);
        const found = await differences(database, sandbox, 5, [of]);
        expect(found.filter(text => !text.endsWith('is not at the source'))).toEqual([]);
        fill(sandbox, of, 7);
        sandbox.remove(of, idsOf(sandbox, of)[30 + round] as number);
      }
      await engine.close();
    });
    await sandbox.close();
  },
);

const item = { description: 'Work', qty: 1, amount: 5 };

const filtered = [
  ...cases.map(each => ({ ...each, of: 'lists' })),
  ...PAGINGS.flatMap(paging =>
    ORDERS.flatMap(order => ['filtered', 'unfiltered'].map(of => ({ paging, order, cap: 137, of }))),
  ),
];

test.each(some(filtered, 3))(
  'date windows show all of a list that shows at most $cap rows of $of (paging=$paging, $order)',
  async ({ paging, order, cap, of }) => {
    const variants = parseVariants(`paging=${paging},order=${order},most-rows=${cap},most-rows-of=${of}`);
    const sandbox = await openSandbox({
      size: { customers: 20, invoices: 20, transactions: 20 },
      rateLimit: 0,
      variants,
    });
    fill(sandbox, 'transactions', cap < 999 ? 3 * cap : cap + 300);
    await withDatabase(async database => {
      const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['transactions'] });
      for (let round = 0; round < 2; round++) {
        const [done] = await serveOrders(engine, 'sync', { whole: true });
        expect(done?.reason ?? done?.state).toBe('done');
        await check(database, sandbox, ['transactions']);
        expect(await differences(database, sandbox, 5, ['transactions'])).toEqual([]);
        fill(sandbox, 'transactions', 7);
        const [oldest = 0] = idsOf(sandbox, 'transactions');
        sandbox.remove('transactions', oldest + 30 + round);
      }
      await engine.close();
    });
    await sandbox.close();
  },
);

long.each([
  { order: 'id-desc', cap: 37 },
  { order: 'id-asc', cap: 137 },
])(
  "an invoice that moved is not deleted because its customer's list shows at most $cap rows ($order)",
  async ({ order, cap }) => {
    const variants = parseVariants(`order=${order},paging=no-meta,most-rows=${cap},most-rows-of=customer`);
    const size = { customers: 5, invoices: 20, transactions: 20 };
    const sandbox = await openSandbox({ size, rateLimit: 0, variants });
    fill(sandbox, 'invoices', 5 * cap);
    // Behind the end of their customers' lists.
    const hidden = idsOf(sandbox, 'invoices').slice(...(order === 'id-desc' ? [25, 45] : [-45, -1]));
    const old = hidden.filter(id => dateOf(sandbox, id) < '2025').slice(0, 4);
    expect(old).toHaveLength(4);
    await withDatabase(async database => {
      const engine = await openEngine(database, sandbox, {
        limit: 100_000,
        resources: ['invoices'],
        pageSize: cap < 100 ? 5 : 20,
      });
      // Pages this small cut the list into windows.
      await serveOrders(engine, 'sync', { whole: true });
      for (const id of old) sandbox.update('invoices', id, { date: '2025-12-28' });
      // Their former windows lack them, and so do the lists of their customers; their new window is read later.
      await serveOrders(engine, 'backfill', { dateFrom: '2021-01-01', dateTo: '2024-12-31' });
      await check(database, sandbox, ['invoices']);
      const [repaired] = await serveOrders(engine, 'verify', { repair: true });
      expect(repaired?.reason ?? repaired?.state).toBe('done');
      expect(await differences(database, sandbox, 5, ['invoices'])).toEqual([]);
      await engine.close();
    });
    await sandbox.close();
  },
);

const dateOf = (sandbox: Sandbox, id: number): string =>
  String([...sandbox.rows('invoices')].find(row => row.id === id)?.date ?? '');
