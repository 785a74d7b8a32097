import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { noteTroubles } from '../../../src/warehouse/ledgers/incidents.ts';
import { createOrder, setOrderState } from '../../../src/warehouse/ledgers/orders.ts';
import { endRun, startRun } from '../../../src/warehouse/ledgers/runs.ts';
import { failedLast, openRuns } from '../../../src/warehouse/reports/state-queries.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';
import { ask, servedSource, withService } from '../with-service.ts';

test('the pages show the state of the source, load nothing from elsewhere, escape text from the source and hide secrets', async () => {
  const sandbox = await openSandbox({ rateLimit: 0 });
  const hostile = `<script>alert("x")</script>&'`;
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox);
    await serveOrders(engine, 'sync');
    await createOrder(database.kysely, { source: 'main', resource: 'invoices', kind: 'backfill' });
    const run = await startRun(database.kysely, {
      source: 'main',
      resource: 'invoices',
      kind: hostile,
      orderId: null,
      slotAt: null,
    });
    await endRun(database.kysely, run, { state: 'failed', reason: `${hostile} secret-1`, next: hostile });
    await noteTroubles(database.kysely, 'main', [
      { kind: 'fuse', resource: 'invoices', message: `${hostile} secret-1`, next: hostile },
    ]);
    const ended = await createOrder(database.kysely, { source: 'main', resource: 'customers', kind: 'backfill' });
    await setOrderState(database.kysely, ended.id, ['waiting'], 'cancelled', { reason: 'secret-1' });
    const hide = (text: string) => text.replaceAll('secret-1', '[secret]');
    await withService(database, { hide }, async ({ url }) => {
      const overview = await ask(`${url}/`);
      const source = await ask(`${url}/sources/main`);
      expect(overview.text).toContain('<h1>invoices of main: more would be lost than a day allows</h1>');
      const { rows } = await database.query<{ all: string }>(
        `select to_char((select count(*) from warehouse.customers) + (select count(*) from warehouse.invoices)
          + (select count(*) from warehouse.transactions), 'FM9,999') as all`,
      );
      expect(overview.text).toContain(`<b>${rows[0]?.all}</b> rows`);
      expect(source.text).toContain('<td class="num" data-l="rows">600</td>');
      expect(source.text).toContain('that Sluice may send in an hour.');
      expect(source.text).toMatch(/Order \d+<\/a>: backfill of invoices/);
      expect(source.text).toMatch(
        /<th scope="row">invoices<\/th>[\s\S]*?<td class="" data-l="arrives after">\d+ (?:second|minute)s?<span/,
      );
      for (const { text, headers } of [overview, source]) {
        expect(text).toContain('&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;&#39; [secret]');
        expect(text).not.toMatch(/<script>|secret-1|https?:|url\(| style=| on\w+=/);
        expect(headers).toMatchObject({
          'content-type': 'text/html; charset=UTF-8',
          'content-security-policy': expect.stringMatching(/^default-src 'none'; style-src 'self'; /) as string,
          'x-content-type-options': 'nosniff',
          'x-frame-options': 'DENY',
          'referrer-policy': 'same-origin',
          'cache-control': 'no-store',
        });
      }
      await database.query(
        `insert into sluice.quarantine (source, resource, key, payload, reasons, slice, first_seen, last_seen)
         values ('main', 'invoices', '9', '{"id": 9, "amount": "secret-1"}', '{"amount": "got secret-1"}', 'whole', sluice.now(), sluice.now())`,
      );
      const quoting = ['/runs', `/runs/${run}`, `/orders/${ended.id}`, '/quarantine/main', '/record/invoices/9'];
      for (const path of quoting) {
        const { status, text } = await ask(`${url}${path}`);
        expect([path, status, text.includes('secret-1'), text.includes('[secret]')]).toEqual([path, 200, false, true]);
      }
      expect((await ask(`${url}/console.css`)).headers['content-type']).toBe('text/css; charset=utf-8');
      expect((await ask(`${url}/console.js`)).headers['content-type']).toBe('text/javascript; charset=utf-8');
      expect((await ask(`${url}/sources/other`)).status).toBe(404);
    });
    await engine.close();
  });
  await sandbox.close();
});

test('a source whose schema was dropped is reported as unreadable while the others are shown', async () => {
  await withDatabase(async database => {
    const served = servedSource(database);
    await withService(
      database,
      { sources: [served, { ...served, name: 'other', schema: 'gone' }] },
      async ({ url }) => {
        const { status, text } = await ask(`${url}/`);
        expect(status).toBe(200);
        expect(text).toContain('<h1>The state of other cannot be read</h1>');
        expect(text).toMatch(/<a href="\/sources\/other">other<\/a>[\s\S]*gone\.customers/);
        expect(text).toContain('<a href="/sources/main">main</a>');
      },
    );
  });
});

test('a run in progress and the last failure are shown behind any number of newer runs', async () => {
  await withDatabase(async database => {
    const { kysely } = database;
    const of = (resource: string, kind: string) => ({ source: 'main', resource, kind, orderId: null, slotAt: null });
    await startRun(kysely, of('transactions', 'backfill'));
    const failed = await startRun(kysely, of('invoices', 'slot'));
    await endRun(kysely, failed, { state: 'failed', reason: 'It answered nonsense.' });
    await database.query(
      `insert into sluice.runs (source, resource, kind, state, started_at, ended_at)
       select 'main', 'customers', 'slot', 'done', sluice.now(), sluice.now() from generate_series(1, 500)`,
    );
    expect(await openRuns(kysely, ['main'])).toMatchObject([{ resource: 'transactions', state: 'running' }]);
    expect(await failedLast(kysely, 'main', ['customers', 'invoices', 'transactions'])).toMatchObject([{ id: failed }]);
    await withService(database, {}, async ({ url }) => {
      const { text } = await ask(`${url}/sources/main`);
      expect(text).toMatch(/Runs in progress[\s\S]*<th scope="row">transactions<\/th><td class="">backfill<\/td>/);
      expect(text).toContain('It answered nonsense.');
    });
    await endRun(kysely, await startRun(kysely, of('invoices', 'slot')), { state: 'done' });
    expect(await failedLast(kysely, 'main', ['customers', 'invoices', 'transactions'])).toEqual([]);
  });
});
