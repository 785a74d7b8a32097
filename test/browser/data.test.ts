import { expect, test } from 'vitest';
import type { Change, Editor } from '../../src/service/status/editor.ts';
import { noEditor } from '../service/with-service.ts';
import { withConsole } from './with-console.ts';
import { lookAt, withPage } from './with-page.ts';

test('from the tables to a row, its customer and its items; the counts are those of psql', async () => {
  await withConsole(async ({ url, database }) => {
    await lookAt(`${url}/data`, 'data');
    const { rows } = await database.query<{ id: string; customer: string; count: string }>(
      `select id, customer_id as customer, (select to_char(count(*), 'FM9,999') from warehouse.invoices) as count
       from warehouse.invoices where customer_id in (select id from warehouse.customers) order by id desc limit 1`,
    );
    const { id, customer, count } = rows[0] as (typeof rows)[0];
    await withPage(async page => {
      await page.goto(`${url}/data`);
      const row = page.getByRole('row', { name: /^invoices / });
      expect(await row.getByRole('cell').first().textContent()).toBe(count);
      await page.getByRole('link', { name: 'invoices', exact: true }).click();
      await page.getByRole('heading', { name: 'warehouse.invoices' }).waitFor();
      await lookAt(page.url(), 'table');
      await page.goto(`${url}/record/invoices/${id}`);
      await page.getByRole('heading', { name: new RegExp(`^invoices ${id} equals the source`) }).waitFor();
      await page.getByRole('link', { name: customer, exact: true }).click();
      await page.getByRole('heading', { name: new RegExp(`^customers ${customer} equals the source`) }).waitFor();
      await page.getByRole('heading', { name: 'Rows that name it' }).waitFor();
      await lookAt(`${url}/record/invoices/${id}`, 'record');
    });
  });
});

test('quarantine and missing rows, empty and full', async () => {
  await withConsole(async ({ url, database }) => {
    await lookAt(`${url}/quarantine/main`, 'quarantine-empty');
    await lookAt(`${url}/missing/main`, 'missing-empty');
    await database.query(
      `insert into sluice.quarantine (source, resource, key, payload, reasons, slice, first_seen, last_seen)
       select 'main', 'invoices', id::text, '{"id": ' || id || ', "amount": "<b>12,5O</b>"}', '{"amount": "expected a number, got \\"<b>12,5O</b>\\""}',
         'date 2026-01-01..2026-12-31', sluice.now() - interval '2 days', sluice.now() + interval '1 minute'
       from warehouse.invoices order by id desc limit 3`,
    );
    await database.query(
      `insert into sluice.missing (source, resource, key, slice, since, readings)
       select 'main', 'customers', id::text, 'id ..', sluice.now() - interval '20 minutes', 1 from warehouse.customers order by id limit 2`,
    );
    await lookAt(`${url}/quarantine/main`, 'quarantine');
    await lookAt(`${url}/missing/main`, 'missing');
    await withPage(async page => {
      await page.goto(`${url}/quarantine/main`);
      await page
        .getByRole('link', { name: /^invoices \d+$/ })
        .first()
        .click();
      await page.getByRole('heading', { name: /is in quarantine$/ }).waitFor();
      await lookAt(page.url(), 'record-quarantined');
      await page.goto(`${url}/missing/main`);
      await page
        .getByRole('link', { name: /^customers \d+$/ })
        .first()
        .click();
      await page.getByRole('heading', { name: /has been missing since/ }).waitFor();
      await lookAt(page.url(), 'record-missing');
    });
  });
});

test('a month is closed, and what changes in it is compared and accepted', async () => {
  await withConsole(async ({ url, database }) => {
    await withPage(async page => {
      await page.goto(`${url}/data`);
      await page.getByRole('link', { name: 'closed months' }).click();
      const month = await page.getByLabel('Month').inputValue();
      await page.getByRole('button', { name: 'Close' }).click();
      await page.getByRole('heading', { name: month }).waitFor();
      await page.getByText('Nothing has changed since.').waitFor();
      await database.query(
        `update warehouse.invoices set notes = 'Corrected', amount = amount + 1
         where id in (select id from warehouse.invoices where to_char(date, 'YYYY-MM') = $1 order by id limit 2)`,
        [month],
      );
      await database.query(
        `delete from warehouse.transactions
         where id in (select id from warehouse.transactions where to_char(date, 'YYYY-MM') = $1 order by id limit 1)`,
        [month],
      );
      await page.reload();
      await page.getByRole('row', { name: /notes/ }).first().waitFor();
      await lookAt(page.url(), 'months-changed');
      await page.getByRole('button', { name: 'Accept and close again' }).click();
      await page.getByText('Nothing has changed since.').waitFor();
    });
  });
});

test('fields beyond the columns, before and after one of them became a column, and one that could not', async () => {
  const field = { table: 'invoices', rows: 1948, total: 2000, file: null, unfit: 0 };
  const added = { resource: 'invoices', field: 'cost_centre', type: 'text', description: '' };
  const change: Change = {
    page: { resource: 'invoices' },
    doing: 'invoices.cost_centre becomes a column',
    done: 'invoices.cost_centre is a column now.',
    failed: 'invoices.cost_centre has got no column.',
  };
  const editor: Editor = {
    ...noEditor,
    types: ['text', 'integer', 'decimal', 'date', 'timestamp'],
    readFields: async () => ({
      fields: [
        { ...field, field: 'project', type: 'text', examples: [], file: 'lists/invoices.json', unfit: 3 },
        {
          ...field,
          field: 'cost_centre',
          type: 'text',
          examples: ['Vienna', 'A remark that nobody thought would be this long'],
        },
        {
          ...field,
          field: 'items.discount',
          table: 'invoice_items',
          rows: 12,
          type: 'decimal',
          examples: ['1.5', '12'],
        },
        { ...field, field: 'Odd name', type: null, examples: [] },
      ],
      masks: [
        { field: 'phone', rule: 'never' },
        { field: 'email', rule: 'hash' },
      ],
    }),
    addField: async asked => {
      expect(asked).toEqual(added);
      Object.assign(shown, { last: { change, isUnderWay: true, failure: null } });
    },
    addRule: async asked => {
      expect(asked).toEqual({ source: 'main', resource: 'invoices', field: 'notes', rule: 'hash' });
    },
  };
  const shown = { ...editor };
  await withConsole(
    async ({ url }) => {
      await lookAt(`${url}/fields/main?list=invoices`, 'fields');
      await withPage(async page => {
        await page.goto(`${url}/data`);
        await page.getByRole('link', { name: 'fields', exact: true }).click();
        await page.getByLabel('List').selectOption('invoices');
        await page.getByRole('button', { name: 'Show' }).click();
        expect(await page.locator('form', { hasText: 'Add the column' }).getByLabel('Field').inputValue()).toBe(
          'cost_centre',
        );
        const rule = page.locator('form', { hasText: 'Erase what is stored' });
        await rule.getByLabel('Field').selectOption('notes');
        await rule.getByLabel('Rule').selectOption('store a hash of it');
        await rule.getByRole('checkbox').check();
        await rule.getByRole('button', { name: 'Set the rule' }).click();
        await page.getByRole('button', { name: 'Add the column' }).click();
        await page.getByText('invoices.cost_centre becomes a column').waitFor();
      });
      await lookAt(`${url}/fields/main?list=invoices`, 'fields-changing');
      Object.assign(shown, { last: { change, isUnderWay: false, failure: 'Another process is reading main.' } });
      await lookAt(`${url}/fields/main?list=invoices`, 'fields-failed');
    },
    { editor: shown },
  );
});

test('the reserve for other programs: as it is, being changed, and one that cannot be', async () => {
  const change: Change = {
    page: { reserveOf: 'main' },
    doing: 'The reserve of main becomes 30%',
    done: 'The reserve of main is 30% now.',
    failed: 'The reserve of main is as before.',
  };
  const shown: Editor = {
    ...noEditor,
    setReserve: async (source, reserve) => {
      expect([source, reserve]).toEqual(['main', '30%']);
      Object.assign(shown, { last: { change, isUnderWay: true, failure: null } });
    },
  };
  await withConsole(
    async ({ url }) => {
      await lookAt(`${url}/reserve/main`, 'reserve');
      await withPage(async page => {
        await page.goto(`${url}/sources/main`);
        await page.getByRole('link', { name: 'Leave some to other programs' }).click();
        await page.getByLabel('Left to other programs').fill('30%');
        await page.getByRole('button', { name: 'Set the reserve' }).click();
        await page.getByText('The reserve of main becomes 30%').waitFor();
      });
      Object.assign(shown, { last: { change, isUnderWay: false, failure: 'The disk is full.' } });
      await lookAt(`${url}/reserve/main`, 'reserve-failed');
    },
    { editor: shown },
  );
});
