import { expect, test } from 'vitest';
import { runLoop } from '../../src/engine/run/loop.ts';
import { until } from '../cli/run-command.ts';
import { withConsole } from './with-console.ts';
import { lookAt, withPage } from './with-page.ts';

test('a question of the cookbook is answered with one click, as table, chart and CSV', async () => {
  await withConsole(
    async ({ url }) => {
      const ask = async (page: Parameters<Parameters<typeof withPage>[0]>[0]) => {
        await page.getByRole('button', { name: 'Invoiced and paid by month' }).click();
        await page.getByRole('heading', { name: /^\d+ rows in \d+ ms$/ }).waitFor();
      };
      await lookAt(`${url}/sql`, 'sql-empty');
      await lookAt(`${url}/sql`, 'sql-chart', ask);
      const openTable = async (page: Parameters<Parameters<typeof withPage>[0]>[0]) => {
        await page.getByText('Tables and columns').click();
        await page.locator('summary').getByText('invoices', { exact: true }).click();
      };
      await lookAt(`${url}/sql`, 'sql-tables', openTable);
      await withPage(async page => {
        await page.goto(`${url}/sql`);
        await openTable(page);
        await page.locator('li:visible').getByText('customer_id').waitFor();
        await page.getByRole('link', { name: 'Query it' }).click();
        await page.waitForURL(/query=/);
        expect(await page.getByRole('textbox').inputValue()).toBe('select * from invoices limit 100');
      });
      for (const javaScriptEnabled of [true, false])
        await withPage(
          async page => {
            await page.goto(`${url}/sql`);
            await ask(page);
            await page.getByRole('img', { name: /^invoiced by month/ }).waitFor();
            await page.getByLabel('Chart').selectOption('open');
            await page.getByRole('button', { name: 'Run', exact: true }).click();
            await page.getByRole('img', { name: /^open by month/ }).waitFor();
            const [download] = await Promise.all([
              page.waitForEvent('download'),
              page.getByRole('button', { name: 'Download CSV' }).click(),
            ]);
            expect(download.suggestedFilename()).toBe('result.csv');
          },
          undefined,
          { javaScriptEnabled },
        );
      await withPage(async page => {
        await page.goto(`${url}/sql`);
        await page.getByLabel('Query').fill('select count(*) from invoices');
        await page.getByLabel('Query').press('Control+Enter');
        await page.getByRole('heading', { name: /^1 row in/ }).waitFor();
        expect(await page.getByRole('textbox').inputValue()).toBe('select count(*) from invoices');
      });
    },
    { reads: true },
  );
});

test('a query that may be no older than now is answered once that was read again, and one that takes too much is refused', async () => {
  await withConsole(
    async ({ url, database, sandbox, engine }) => {
      const [row] = [...sandbox.rows('invoices')].slice(-80);
      if (!row) throw new Error('too few invoices');
      sandbox.update('invoices', row.id, { notes: 'edited' });
      const ask = async (page: Parameters<Parameters<typeof withPage>[0]>[0], query: string) => {
        await page.goto(`${url}/sql`);
        await page.getByLabel('Query').fill(query);
        await page.getByLabel('Maximum age').selectOption('now');
        await page.getByRole('button', { name: 'Run', exact: true }).click();
      };
      const readWhatIsAsked = async () => {
        const orders = () => database.query('select from sluice.orders where state = $1', ['waiting']);
        await until(async () => (await orders()).rows.length > 0);
        await runLoop(engine, { orders: () => true, slots: false }, new AbortController().signal);
      };
      await lookAt(`${url}/sql`, 'sql-fresh', async page => {
        await Promise.all([
          ask(page, `select notes from invoices where customer_id = ${row.customer_id} and id = ${row.id}`),
          readWhatIsAsked(),
        ]);
        await page.getByRole('heading', { name: /^1 row in/ }).waitFor();
        await page.getByText(/^As of \d+ m?s ago; \d requests?\.$/).waitFor();
        await page.getByText('edited', { exact: true }).waitFor();
      });
      const before = sandbox.stats.total;
      const query = 'select (select count(*) from transactions), (select count(*) from invoices)';
      const body = new URLSearchParams({ query, age: 'now', do: 'run' });
      const refused = await fetch(`${url}/sql`, { method: 'POST', headers: { origin: url }, body });
      expect([refused.status, await refused.text()]).toEqual([422, expect.stringContaining('None was sent.')]);
      expect(sandbox.stats.total).toBe(before);
    },
    { reads: true },
  );
});
