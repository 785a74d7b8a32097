import { expect, test } from 'vitest';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { createOrder } from '../../../src/warehouse/ledgers/orders.ts';
import { startRun } from '../../../src/warehouse/ledgers/runs.ts';
import { holdValues } from '../../../src/warehouse/rows/held-values.ts';
import { noteRewrite, openRewrites } from '../../../src/warehouse/rows/rewrites.ts';
import { withDatabase } from '../../support/database.ts';
import { ask, sendForm, withService } from '../with-service.ts';

const TOKEN = 'token-5f/+&"x';
const NEW = { source: 'main', resource: 'customers', work: 'backfill', from: '', to: '' };

const orders = async (database: Database) =>
  (await database.query<{ state: string }>('select state from sluice.orders order by id')).rows.map(
    ({ state }) => state,
  );

test('no action from a foreign origin, without one, or by a foreign host name', async () => {
  await withDatabase(async database => {
    await withService(database, {}, async ({ url }) => {
      const { id } = await createOrder(database.kysely, { source: 'main', resource: 'invoices', kind: 'backfill' });
      const actions = [
        ['/orders', NEW],
        [`/orders/${id}/pause`, {}],
        [`/orders/${id}/cancel`, {}],
      ] as const;
      for (const [path, fields] of actions) {
        for (const foreign of [{ origin: 'http://evil.example' }, { origin: '' }, { host: 'evil.example' }])
          expect((await sendForm(url, path, fields, foreign)).status).toBe(403);
        expect((await ask(`${url}${path}`)).status).toBe(404);
      }
      expect(await orders(database)).toEqual(['waiting']);
      expect((await sendForm(url, `/orders/${id}/pause`, {})).status).toBe(303);
      expect((await sendForm(url, '/orders', NEW)).status).toBe(303);
      expect(await orders(database)).toEqual(['paused', 'waiting']);
      const again = await sendForm(url, '/orders', { ...NEW, resource: 'invoices' });
      expect([again.status, again.text]).toEqual([400, expect.stringContaining('exists and is paused')]);
    });
  });
});

test('an order is called what it does: a verification compares everything, whatever days were chosen', async () => {
  await withDatabase(async database => {
    await withService(database, {}, async ({ url }) => {
      const days = 'source=main&resource=invoices&from=2025-01-01&to=2025-01-31';
      const titled = async (work: string) => (await ask(`${url}/orders/new?${days}&work=${work}`)).text;
      expect(await titled('backfill')).toContain('Backfill invoices, 2025-01-01 .. 2025-01-31');
      expect(await titled('verify')).toContain('Verify invoices, everything');
    });
  });
});

test('what is held is shown, and accepted with one button', async () => {
  await withDatabase(async database => {
    await holdValues(database.kysely, { source: 'main', resource: 'invoices' }, 'amount', ['7', '9']);
    await withService(database, {}, async ({ url }) => {
      const page = await ask(`${url}/held/main`, {});
      expect(page.text).toContain('invoices.amount');
      expect(page.text).toContain('The source shows it as empty in 2 rows with a stored value.');
      expect((await ask(`${url}/data?source=main`, {})).text).toContain('<a href="/held/main"><b>2</b> held</a>');
      const fields = { resource: 'invoices', field: 'amount' };
      expect((await sendForm(url, '/held/main', { ...fields, field: 'id' })).status).toBe(404);
      expect((await sendForm(url, '/held/main', fields)).status).toBe(303);
      const { rows } = await database.query('select kind, accept_losses as fields from sluice.orders');
      expect(rows).toEqual([{ kind: 'sync', fields: ['amount'] }]);
    });
  });
});

test('of many missing rows and records in quarantine, the first 200 are shown, and all are counted', async () => {
  await withDatabase(async database => {
    await database.query(
      `insert into sluice.missing (source, resource, key, slice, since, readings)
       select 'main', resource, n::text, 'id ..', sluice.now(), 1
       from unnest(array['customers', 'invoices']) as resource, generate_series(1, 150) n`,
    );
    await database.query(
      `insert into sluice.quarantine (source, resource, key, payload, reasons, slice, first_seen, last_seen)
       select 'main', 'invoices', n::text, '{}', '{}', 'id ..', sluice.now(), sluice.now() from generate_series(1, 1200) n`,
    );
    await withService(database, {}, async ({ url }) => {
      for (const [page, title] of [
        ['missing', '300 of main: the first 200'],
        ['quarantine', '1,200 of main: the first 200'],
        ['held', '0 of main'],
      ] as const) {
        const { text } = await ask(`${url}/${page}/main`);
        expect([page, text]).toEqual([page, expect.stringContaining(`>${title}<`)]);
        expect([page, text.match(/<li><div class="head">/g)?.length ?? 0]).toEqual([page, page === 'held' ? 0 : 200]);
      }
    });
  });
});

test('a record is refreshed with one button', async () => {
  await withDatabase(async database => {
    await withService(database, {}, async ({ url }) => {
      const page = await ask(`${url}/record/invoices/17`, {});
      expect(page.text).toContain('<form method="post" action="/record/invoices/17">');
      for (const place of ['nothing/17', 'invoices/abc'])
        expect((await sendForm(url, `/record/${place}`, { source: 'main' })).status).toBe(404);
      const sent = await sendForm(url, '/record/invoices/17', { source: 'main' });
      expect(sent.status).toBe(303);
      const order = await ask(`${url}${String(sent.headers.location)}`, {});
      expect(order.text).toContain('Refresh of invoices, record 17: ');
      const { rows } = await database.query('select kind, resource, targets from sluice.orders');
      expect(rows).toEqual([{ kind: 'refresh', resource: 'invoices', targets: ['one 17'] }]);
    });
  });
});

test('a rewrite is compared and settled', async () => {
  await withDatabase(async database => {
    const place = { source: 'main', resource: 'invoices' };
    const { kysely } = database;
    const examples = [{ key: '7', before: '12.50', after: '<b>1250</b>' }];
    const rewrite = { field: 'amount', rows: 60, stored: 90, looks: '100 times the value', examples, runIds: ['3'] };
    await noteRewrite(kysely, place, { ...rewrite, since: '2026-01-01' }, { runId: '3' });
    await withService(database, {}, async ({ url }) => {
      const page = await ask(`${url}/rewrites/main`, {});
      expect(page.text).toContain('Replaced in 60 of 90 rows. It looks like 100 times the value.');
      expect(page.text).toContain('&quot;&lt;b&gt;1250&lt;/b&gt;&quot;');
      const id = /name="id" value="(\d+)"/.exec(page.text)?.[1] ?? '';
      const settle = (fields: Record<string, string>) => sendForm(url, '/rewrites/main', fields);
      expect((await settle({ id, action: 'drop' })).status).toBe(404);
      expect(await openRewrites(kysely, 'main', ['invoices'])).toHaveLength(1);
      expect((await settle({ id, action: 'accept' })).status).toBe(303);
      expect(await openRewrites(kysely, 'main', ['invoices'])).toEqual([]);
      expect((await settle({ id, action: 'undo' })).status).toBe(303);
    });
  });
});

test('an action that is not possible, or no longer, is answered with the reason and the next step', async () => {
  await withDatabase(async database => {
    const place = { source: 'main', resource: 'invoices' };
    const { kysely } = database;
    await holdValues(kysely, place, 'amount', ['7', '9']);
    const common = { rows: 60, stored: 90, looks: null, examples: [], since: '2026-01-01' };
    await noteRewrite(kysely, place, { ...common, field: 'amount', runIds: ['77'] }, { runId: '77' });
    const kept = await startRun(kysely, { ...place, kind: 'slot', orderId: null, slotAt: null });
    await noteRewrite(kysely, place, { ...common, field: 'date', runIds: [kept] }, { runId: kept });
    await withService(database, { hide: text => text.replaceAll('77', '[secret]') }, async ({ url }) => {
      const accept = () => sendForm(url, '/held/main', { resource: 'invoices', field: 'amount' });
      const order = /\/orders\/(\d+)$/.exec(String((await accept()).headers.location))?.[1] ?? '';
      expect((await sendForm(url, `/orders/${order}/pause`, {})).status).toBe(303);
      expect(await accept()).toMatchObject({
        status: 409,
        text: expect.stringMatching(`is paused \\(order ${order}\\)\\.\n.*sluice backfill resume ${order}`),
      });

      const open = await openRewrites(kysely, 'main', ['invoices']);
      const undo = (field: string) =>
        sendForm(url, '/rewrites/main', { id: open.find(each => each.field === field)?.id ?? '', action: 'undo' });
      expect(await undo('amount')).toMatchObject({
        status: 409,
        text: expect.stringMatching(/^main has no run \[secret\] of a list that is read here\.\n/),
      });
      expect(await undo('date')).toMatchObject({
        status: 409,
        text: expect.stringMatching(`^Nothing is kept that run ${kept} replaced or deleted\\.\n`),
      });
    });
  });
});

test('no action without the token', async () => {
  await withDatabase(async database => {
    await withService(database, { token: TOKEN }, async ({ url }) => {
      expect((await sendForm(url, '/orders', NEW)).status).toBe(401);
      expect(await orders(database)).toEqual([]);
      // With the token, but from no page: a program has no browser whose login could be misused, and none is needed here.
      expect((await sendForm(url, '/orders', NEW, { authorization: `Bearer ${TOKEN}`, origin: '' })).status).toBe(403);
      expect(await orders(database)).toEqual([]);
    });
  });
});

test('what does not exist is not found, whatever its name', async () => {
  await withDatabase(async database => {
    await withService(database, {}, async ({ url }) => {
      const paths = [
        '/orders/99',
        '/orders/x',
        '/runs/99',
        '/runs/1e3',
        '/runs/99999999999999999999',
        '/sources/../main',
      ];
      for (const path of paths) expect([path, (await ask(`${url}${path}`)).status]).toEqual([path, 404]);
      for (const path of ['/orders/99/pause', '/orders/x/pause', '/orders/99/toString'])
        expect([path, (await sendForm(url, path, {})).status]).toEqual([path, 404]);
      for (const wrong of [{ source: 'other' }, { resource: 'other' }, { work: 'toString' }])
        expect((await sendForm(url, '/orders', { ...NEW, ...wrong })).status).toBe(404);
      const reversed = { ...NEW, resource: 'invoices', from: '2025-02-01', to: '2025-01-01' };
      const refused = await sendForm(url, '/orders', reversed);
      expect([refused.status, refused.text]).toEqual([
        400,
        expect.stringContaining('The first day 2025-02-01 is after'),
      ]);
      expect(await orders(database)).toEqual([]);
    });
  });
});
