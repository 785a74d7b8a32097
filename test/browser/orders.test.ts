import { expect, test } from 'vitest';
import { DAY } from '../../src/clock.ts';
import { runLoop } from '../../src/engine/run/loop.ts';
import { recordIncidents } from '../../src/service/incidents/incident-monitor.ts';
import { readOrders } from '../../src/warehouse/ledgers/orders.ts';
import { serveOrders } from '../support/source.ts';
import { withConsole } from './with-console.ts';
import { lookAt, withPage } from './with-page.ts';

test('a backfill is started after its cost was shown, paused, resumed and cancelled', async () => {
  await withConsole(async ({ url, database }) => {
    for (const javaScriptEnabled of [true, false])
      await withPage(
        async page => {
          await page.goto(`${url}/runs`);
          await page.getByRole('link', { name: 'New order' }).click();
          await page.getByLabel('Resource').selectOption('invoices');
          await page.getByLabel('First day').fill('2025-01-01');
          await page.getByRole('button', { name: 'Show the cost' }).click();
          await expectText(page, /about \d+ requests?/);
          await expectText(page, /Done in \d+/);
          await page.getByRole('button', { name: /^Start about \d+ request/ }).click();
          await page.waitForURL(/\/orders\/\d+$/);
          const id = page.url().split('/').at(-1) as string;
          const stored = async () => (await readOrders(database.kysely, [id]))[0];
          expect(await stored()).toMatchObject({
            kind: 'backfill',
            resource: 'invoices',
            dateFrom: '2025-01-01',
            state: 'waiting',
          });
          await page.getByRole('button', { name: 'Pause' }).click();
          await page.getByRole('heading', { name: /paused/ }).waitFor();
          expect(await stored()).toMatchObject({ state: 'paused' });
          await page.getByRole('button', { name: 'Resume' }).click();
          await page.getByRole('heading', { name: /waiting/ }).waitFor();
          await page.getByRole('button', { name: 'Cancel' }).click();
          await page.getByRole('heading', { name: /cancelled/ }).waitFor();
          expect(await stored()).toMatchObject({ state: 'cancelled', reason: 'Cancelled on request.' });
        },
        undefined,
        { javaScriptEnabled },
      );
    await lookAt(`${url}/runs`, 'runs');
  });
});

test('a repair that the console started is read, and its page shows what it did', async () => {
  await withConsole(async ({ url, database, engine, sandbox }) => {
    sandbox.change('customer-edited');
    await withPage(async page => {
      await page.goto(`${url}/orders/new?source=main&resource=customers&work=repair`);
      await page.getByRole('button', { name: /^Start/ }).click();
      await page.waitForURL(/\/orders\/\d+$/);
      const id = page.url().split('/').at(-1) as string;
      await runLoop(engine, { orders: order => order.id === id, slots: false }, new AbortController().signal);
      await page.reload();
      await page.getByRole('heading', { name: /^Repair of customers: done/ }).waitFor();
      await page.getByRole('link', { name: 'customers: verify' }).click();
      await page.getByRole('heading', { name: 'customers: verify, done' }).waitFor();
      await lookAt(`${url}/orders/${id}`, 'order-done');
      await lookAt(page.url(), 'run');
    });
    const { rows } = await database.query('select state from sluice.orders where repair');
    expect(rows).toEqual([{ state: 'done' }]);
  });
});

test('a form that cannot be used says why, and loses nothing', async () => {
  await withConsole(async ({ url, database }) => {
    await lookAt(`${url}/orders/new?source=main&resource=invoices&from=2025-02-01&to=2025-01-01`, 'order-trouble');
    await withPage(async page => {
      await page.goto(`${url}/orders/new?source=main&resource=customers&from=2025-02-01`);
      await expectText(page, /customers has no dates/);
      expect(await page.getByLabel('First day').inputValue()).toBe('2025-02-01');
      await lookAt(`${url}/orders/new?source=main&resource=invoices`, 'order-new');
    });
    expect((await database.query('select from sluice.orders where ended_at is null')).rows).toEqual([]);
  });
});

const expectText = async (page: { textContent(selector: string): Promise<string | null> }, text: RegExp) =>
  expect(await page.textContent('main')).toMatch(text);

test('values that the source shows empty are held, and the loss is accepted with one button', async () => {
  await withConsole(async ({ url, database, engine, sandbox }) => {
    sandbox.setBadDay({ kind: 'vanished', resource: 'invoices', field: 'amount' });
    await serveOrders(engine, 'sync', { whole: true });
    await withPage(async page => {
      await page.goto(`${url}/data`);
      await page.getByRole('link', { name: /held$/ }).click();
      await page.getByRole('heading', { name: 'Held values' }).waitFor();
      await lookAt(page.url(), 'held');
      await lookAt(`${url}/sources/main`, 'source-held');
      await page.getByRole('button', { name: 'Accept the loss' }).click();
      await page.waitForURL(/\/orders\/\d+$/);
      const id = page.url().split('/').at(-1) as string;
      await runLoop(engine, { orders: order => order.id === id, slots: false }, new AbortController().signal);
      await page.goto(`${url}/held/main`);
      await expectText(page, /Nothing is held/);
      const { rows } = await database.query('select count(amount)::int as left from warehouse.invoices');
      expect(rows).toEqual([{ left: 0 }]);
    });
  });
});

test('values that were replaced are compared, and undone or accepted with one button', async () => {
  await withConsole(async ({ url, database, engine, sandbox }) => {
    const amounts = async () =>
      (await database.query('select sum(amount)::text as amounts from warehouse.invoices')).rows;
    const before = await amounts();
    for (const { id, amount } of [...sandbox.rows('invoices')])
      sandbox.update('invoices', id, { amount: `${Number(amount) * 100}` });
    await serveOrders(engine, 'sync', { whole: true });
    await recordIncidents({ database, freshnessLimitMs: DAY, hide: (text: string) => text } as never, {
      ...{ name: 'main', schema: 'warehouse', timeZone: 'UTC', jobs: new Map() },
      scheduled: ['invoices'],
    });
    await withPage(async page => {
      await page.goto(url);
      await lookAt(page.url(), 'rewritten-overview');
      await page.getByRole('link', { name: 'Compare, accept or undo' }).first().click();
      await page.getByRole('heading', { name: 'Rewritten values' }).waitFor();
      await expectText(page, /invoices\.amount.*100 times the value/s);
      await lookAt(page.url(), 'rewrites');
      await page.getByRole('button', { name: /^Undo run/ }).click();
      await page.waitForURL(/\/runs\/\d+$/);
      await expectText(page, /Undid run/);
      await lookAt(page.url(), 'undone');
      expect(await amounts()).toEqual(before);
      await serveOrders(engine, 'sync', { whole: true });
      await page.goto(`${url}/rewrites/main`);
      await page.getByRole('button', { name: 'Accept' }).click();
      await page.getByText('No rewrite is open.').waitFor();
    });
  });
});
