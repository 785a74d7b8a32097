import { expect, test } from 'vitest';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { createOrder } from '../../../src/warehouse/ledgers/orders.ts';
import { holdValues } from '../../../src/warehouse/rows/held-values.ts';
import { noteRewrite, openRewrites } from '../../../src/warehouse/rows/rewrites.ts';
import { withDatabase } from '../../support/database.ts';
import { ask, withService } from '../with-service.ts';

const TOKEN = 'token-5f/+&"x';
const NEW = { source: 'main', resource: 'customers', work: 'backfill', from: '', to: '' };

/** What a browser holds after it opened the page for a new order. */
async function openForm(url: string, headers: Record<string, string> = {}) {
  const page = await ask(`${url}/orders/new?resource=customers`, { headers });
  const cookie = String(page.headers['set-cookie'] ?? '').split(';')[0] as string;
  return { cookie, csrf: /name="csrf" value="([^"]+)"/.exec(page.text)?.[1] ?? '' };
}

const send = (url: string, path: string, fields: Record<string, string>, headers: Record<string, string>) =>
  ask(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: new URLSearchParams(fields).toString(),
  });

const orders = async (database: Database) =>
  (await database.query<{ state: string }>('select state from sluice.orders order by id')).rows.map(
    ({ state }) => state,
  );

test('no action without the field of this browser, from a foreign origin, or by a foreign host name', async () => {
  await withDatabase(async database => {
    await withService(database, {}, async ({ url }) => {
      const { id } = await createOrder(database.kysely, { source: 'main', resource: 'invoices', kind: 'backfill' });
      const { cookie, csrf } = await openForm(url);
      const actions = [
        ['/orders', NEW],
        [`/orders/${id}/pause`, {}],
        [`/orders/${id}/cancel`, {}],
      ] as const;
      for (const [path, fields] of actions) {
        expect((await send(url, path, fields, { cookie })).status).toBe(403);
        expect((await send(url, path, { ...fields, csrf: `${csrf}x` }, { cookie })).status).toBe(403);
        const foreign = { cookie, origin: 'http://evil.example' };
        expect((await send(url, path, { ...fields, csrf }, foreign)).status).toBe(403);
        const host = { cookie, host: 'evil.example' };
        expect((await send(url, path, { ...fields, csrf }, host)).status).toBe(403);
        expect((await ask(`${url}${path}`, { headers: { cookie } })).status).toBe(404);
      }
      expect(await orders(database)).toEqual(['waiting']);
      expect((await send(url, `/orders/${id}/pause`, { csrf }, { cookie, origin: url })).status).toBe(303);
      expect((await send(url, '/orders', { ...NEW, csrf }, { cookie })).status).toBe(303);
      expect(await orders(database)).toEqual(['paused', 'waiting']);
      const again = await send(url, '/orders', { ...NEW, resource: 'invoices', csrf }, { cookie });
      expect([again.status, again.text]).toEqual([400, expect.stringContaining('exists and is paused')]);
    });
  });
});

test('what is held is shown, and accepted with one button', async () => {
  await withDatabase(async database => {
    await holdValues(database.kysely, { source: 'main', resource: 'invoices' }, 'amount', ['7', '9']);
    await withService(database, {}, async ({ url }) => {
      const page = await ask(`${url}/held/main`, {});
      expect(page.text).toContain('invoices.amount');
      expect(page.text).toContain('The source shows it empty in 2 rows that hold something.');
      expect((await ask(`${url}/data?source=main`, {})).text).toContain('<a href="/held/main"><b>2</b> held</a>');
      const cookie = String(page.headers['set-cookie'] ?? '').split(';')[0] as string;
      const csrf = /name="csrf" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
      const fields = { resource: 'invoices', field: 'amount' };
      expect((await send(url, '/held/main', fields, { cookie })).status).toBe(403);
      expect((await send(url, '/held/main', { ...fields, field: 'id', csrf }, { cookie })).status).toBe(404);
      expect((await send(url, '/held/main', { ...fields, csrf }, { cookie })).status).toBe(303);
      const { rows } = await database.query('select kind, accept_losses as fields from sluice.orders');
      expect(rows).toEqual([{ kind: 'sync', fields: ['amount'] }]);
    });
  });
});

test('a rewrite is compared, and settled only from the page that shows it', async () => {
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
      const cookie = String(page.headers['set-cookie'] ?? '').split(';')[0] as string;
      const csrf = /name="csrf" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
      const id = /name="id" value="(\d+)"/.exec(page.text)?.[1] ?? '';
      const settle = (fields: Record<string, string>) => send(url, '/rewrites/main', fields, { cookie });
      expect((await settle({ id, action: 'accept' })).status).toBe(403);
      expect((await settle({ id, action: 'drop', csrf })).status).toBe(404);
      expect(await openRewrites(kysely, 'main', ['invoices'])).toHaveLength(1);
      expect((await settle({ id, action: 'accept', csrf })).status).toBe(303);
      expect(await openRewrites(kysely, 'main', ['invoices'])).toEqual([]);
      expect((await settle({ id, action: 'undo', csrf })).status).toBe(303);
    });
  });
});

test('no action without the token', async () => {
  await withDatabase(async database => {
    await withService(database, { token: TOKEN }, async ({ url }) => {
      const { cookie, csrf } = await openForm(url);
      expect((await send(url, '/orders', { ...NEW, csrf }, { cookie })).status).toBe(401);
      expect(await orders(database)).toEqual([]);
      // With the token, but without the field: a program has no browser whose login could be misused, and none is needed here.
      const authorization = `Bearer ${TOKEN}`;
      expect((await send(url, '/orders', NEW, { authorization })).status).toBe(403);
      expect(await orders(database)).toEqual([]);
    });
  });
});

test('what does not exist is not found, whatever its name', async () => {
  await withDatabase(async database => {
    await withService(database, {}, async ({ url }) => {
      const { cookie, csrf } = await openForm(url);
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
        expect([path, (await send(url, path, { csrf }, { cookie })).status]).toEqual([path, 404]);
      for (const wrong of [{ source: 'other' }, { resource: 'other' }, { work: 'toString' }])
        expect((await send(url, '/orders', { ...NEW, ...wrong, csrf }, { cookie })).status).toBe(404);
      const reversed = { ...NEW, resource: 'invoices', from: '2025-02-01', to: '2025-01-01' };
      const refused = await send(url, '/orders', { ...reversed, csrf }, { cookie });
      expect([refused.status, refused.text]).toEqual([
        400,
        expect.stringContaining('The first day 2025-02-01 is after'),
      ]);
      expect(await orders(database)).toEqual([]);
    });
  });
});
