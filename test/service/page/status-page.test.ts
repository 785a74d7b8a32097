import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { openSandbox } from '../../../src/sandbox/sandbox.ts';
import { noteTroubles } from '../../../src/warehouse/ledgers/incidents.ts';
import { createOrder } from '../../../src/warehouse/ledgers/orders.ts';
import { endRun, startRun } from '../../../src/warehouse/ledgers/runs.ts';
import { failedLast, runsUnderWay } from '../../../src/warehouse/reports/report.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';
import { ask, servedSource, withService } from '../with-service.ts';

test('the page shows the state of the source, loads no other resource, escapes text from the source and hides secrets', async () => {
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
      { kind: 'fuse', resource: 'invoices', message: hostile, next: hostile },
    ]);
    const hide = (text: string) => text.replaceAll('secret-1', '[secret]');
    await withService(database, { hide }, async ({ url }) => {
      const { text, headers } = await ask(`${url}/`);
      expect(text).toContain('<td class="number">600</td>');
      expect(text).toContain('<strong>invoices: deletion limit reached</strong> since 20');
      expect(text).toContain('<progress value="0"');
      expect(text).toMatch(/As of [-\d]+ [:\d]+ UTC\. /);
      expect(text).toContain('Times are in UTC.');
      expect(text).toMatch(
        /<h3>Freshness<\/h3>[\s\S]*<td class="text">invoices<\/td><td class="text">\d+ (?:second|minute)s?<\/td>/,
      );
      expect(text).toContain('&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;&#39; [secret]');
      expect(text).not.toMatch(/<script|secret-1|src=|href=|url\(| style=/);
      const style = /<style>([\s\S]*)<\/style>/.exec(text)?.[1] as string;
      const hash = createHash('sha256').update(style).digest('base64');
      expect(headers['content-security-policy']).toContain(`style-src 'self' 'sha256-${hash}'`);
      expect(headers).toMatchObject({
        'content-type': 'text/html; charset=UTF-8',
        'content-security-policy': expect.stringMatching(/^default-src 'none'; /) as string,
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
      });
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
        expect([status, text.match(/No open incidents/g)?.length]).toEqual([200, 1]);
        expect(text).toMatch(/<h2>other<\/h2>\s*<div class="trouble"><strong>.*cannot be read[\s\S]*gone\.customers/);
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
    expect(await runsUnderWay(kysely, 'main')).toMatchObject([{ resource: 'transactions', state: 'running' }]);
    expect(await failedLast(kysely, 'main', ['customers', 'invoices', 'transactions'])).toMatchObject([{ id: failed }]);
    await withService(database, {}, async ({ url }) => {
      const { text } = await ask(`${url}/`);
      expect(text).toMatch(/Runs in progress[\s\S]*<td class="text">transactions<\/td><td class="text">backfill<\/td>/);
      expect(text).toContain('It answered nonsense.');
    });
    await endRun(kysely, await startRun(kysely, of('invoices', 'slot')), { state: 'done' });
    expect(await failedLast(kysely, 'main', ['customers', 'invoices', 'transactions'])).toEqual([]);
  });
});
