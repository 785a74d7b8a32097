import { expect, test } from 'vitest';
import { noteTroubles } from '../../src/warehouse/ledgers/incidents.ts';
import { createOrder, setOrderState } from '../../src/warehouse/ledgers/orders.ts';
import { withConsole } from './with-console.ts';
import { withPage } from './with-page.ts';

test('an open page shows what begins and what ends, and leaves alone what somebody types', async () => {
  await withConsole(async ({ url, database }) => {
    const { kysely } = database;
    await withPage(async page => {
      await page.goto(`${url}/`);
      await page.getByText(/^Live, as of/).waitFor();
      await noteTroubles(kysely, 'main', [{ kind: 'failed', resource: 'invoices', message: 'It broke.', next: null }]);
      await page.getByText('It broke.').waitFor();
      await noteTroubles(kysely, 'main', []);
      await page.getByText('It broke.').waitFor({ state: 'detached' });

      const { id } = await createOrder(kysely, { source: 'main', resource: 'invoices', kind: 'backfill' });
      await page.goto(`${url}/orders/${id}`);
      await page.getByText(/^Live, as of/).waitFor();
      await setOrderState(kysely, id, ['waiting'], 'paused');
      await page.getByRole('heading', { name: /paused$/ }).waitFor();

      await page.goto(`${url}/runs`);
      await page.getByText(/^Live, as of/).waitFor();
      await page.getByLabel('Outcome').selectOption('failed');
      await page.getByLabel('Outcome').focus();
      await setOrderState(kysely, id, ['paused'], 'cancelled');
      await page.waitForTimeout(3000);
      expect(await page.getByLabel('Outcome').inputValue()).toBe('failed');
    });
  });
});

test('the calendar is one stop of the Tab key, and arrows move within it', async () => {
  await withConsole(async ({ url }) => {
    await withPage(async page => {
      await page.goto(`${url}/sources/main`);
      const cells = page.locator('.cal a');
      expect(await page.evaluate(`document.querySelectorAll('.cal a[tabindex="0"]').length`)).toBe(1);
      await cells.first().focus();
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('ArrowLeft');
      expect(await page.evaluate('document.activeElement.textContent')).toMatch(/^February \d{4}: /);
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('ArrowUp');
      await page.keyboard.press('Enter');
      await page.waitForURL(/\/orders\/new\?source=main&resource=invoices&from=\d{4}-\d\d-01/);
    });
  });
});
