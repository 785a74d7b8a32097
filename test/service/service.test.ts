import { createHash } from 'node:crypto';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { openSandbox } from '../../src/sandbox/sandbox.ts';
import { createPulse } from '../../src/service/health.ts';
import { pendingMigrations } from '../../src/warehouse/database/migrate.ts';
import { noteTroubles } from '../../src/warehouse/ledgers/incidents.ts';
import { createOrder } from '../../src/warehouse/ledgers/orders.ts';
import { endRun, startRun } from '../../src/warehouse/ledgers/runs.ts';
import { failedLast, runsUnderWay } from '../../src/warehouse/reports/report.ts';
import { createTestDatabase, MIGRATIONS, withDatabase } from '../support/database.ts';
import { openEngine, serveOrders } from '../support/source.ts';
import { ask, servedSource, withService } from './open.ts';

const TOKEN = 'token-5f/+&"x';

test('without a token this machine is answered, by its own names only', async () => {
  await withDatabase(async database => {
    await withService(database, {}, async ({ url }) => {
      const { port } = new URL(url);
      for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`, '127.0.0.1'])
        expect((await ask(`${url}/`, { headers: { host } })).status).toBe(200);
      for (const host of [`evil.example:${port}`, '127.0.0.1.evil.example', 'localhost.evil.example:80']) {
        const { status, text } = await ask(`${url}/`, { headers: { host } });
        expect([status, text]).toEqual([403, expect.stringContaining('SLUICE_TOKEN')]);
        expect((await ask(`${url}/metrics`, { headers: { host } })).status).toBe(403);
        // A probe may come by any name.
        expect((await ask(`${url}/healthz`, { headers: { host } })).status).toBe(200);
      }
    });
  });
});

test('with a token: as Bearer, or once in the address, which becomes a cookie and leaves the address', async () => {
  await withDatabase(async database => {
    await withService(database, { token: TOKEN }, async ({ url }) => {
      for (const path of ['/', '/metrics', '/nothing']) {
        const { status, headers } = await ask(`${url}${path}`);
        expect([status, headers['www-authenticate']]).toEqual([401, 'Bearer realm="sluice"']);
      }
      for (const path of ['/healthz', '/readyz']) expect((await ask(`${url}${path}`)).status).toBe(200);
      for (const wrong of [
        '',
        'Bearer',
        'Bearer x',
        `Bearer ${TOKEN}x`,
        `Basic ${TOKEN}`,
        `Bearer ${TOKEN.slice(0, -1)}`,
      ])
        expect((await ask(`${url}/`, { headers: { authorization: wrong } })).status).toBe(401);

      expect((await ask(`${url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })).status).toBe(200);
      expect((await ask(`${url}/?token=wrong`)).status).toBe(401);
      const entered = await ask(`${url}/?token=${encodeURIComponent(TOKEN)}`);
      expect([entered.status, entered.headers.location]).toEqual([303, '/']);
      // Never to another host.
      const { port } = new URL(url);
      for (const path of ['//evil.example/', '/\\evil.example/']) {
        const led = await ask(`${url}${path}?token=${encodeURIComponent(TOKEN)}`);
        expect([led.status, new URL(String(led.headers.location), url).host]).toEqual([303, `127.0.0.1:${port}`]);
      }
      const cookie = entered.headers['set-cookie']?.[0] as string;
      expect(cookie).toMatch(/HttpOnly; SameSite=Lax/);
      expect(cookie).not.toContain(encodeURIComponent(TOKEN));
      expect((await ask(`${url}/`, { headers: { cookie: cookie.split(';')[0] as string } })).status).toBe(200);
      expect((await ask(`${url}/`, { headers: { cookie: 'sluice=x' } })).status).toBe(401);
    });
  });
});

test('a port in use is told with the next step, and other machines are answered with a token only', async () => {
  await withDatabase(async database => {
    const taken = createServer();
    const port = await new Promise<number>(resolve =>
      taken.listen(0, '127.0.0.1', () => resolve((taken.address() as { port: number }).port)),
    );
    await expect(withService(database, { port }, async () => undefined)).rejects.toMatchObject({
      kind: 'configuration',
      message: expect.stringContaining(`port ${port}: another program listens there`) as string,
      next: expect.stringContaining('SLUICE_PORT') as string,
    });
    await new Promise(resolve => taken.close(resolve));
    await withService(database, { host: '0.0.0.0', token: TOKEN }, async ({ url }) => {
      expect((await ask(`${url.replace('0.0.0.0', '127.0.0.1')}/`)).status).toBe(401);
    });
  });
});

test('healthz tells that a loop does not go round; readyz that the database is out of reach or not migrated', async () => {
  const empty = await createTestDatabase({ empty: true });
  const database = await empty.open();
  let now = 0;
  const pulse = createPulse(1000, () => now);
  const pending = () => pendingMigrations({ database, ...MIGRATIONS });
  await withService(database, { pulse, pending }, async ({ url }) => {
    pulse.beat('main');
    now = 1000;
    expect((await ask(`${url}/healthz`)).status).toBe(200);
    now = 1001;
    expect(await ask(`${url}/healthz`)).toMatchObject({ status: 503, text: expect.stringContaining('main') as string });
    pulse.beat('main');
    expect((await ask(`${url}/healthz`)).status).toBe(200);
    pulse.rest('main');
    now = 1_000_000;
    expect((await ask(`${url}/healthz`)).status).toBe(200);

    const unready = await ask(`${url}/readyz`);
    expect([unready.status, unready.text]).toEqual([503, expect.stringContaining('sluice migrate')]);
    await database.close();
    expect(await ask(`${url}/readyz`)).toMatchObject({ status: 503 });
    expect((await ask(`${url}/healthz`)).status).toBe(200);
  });
  await empty.drop();
});

test('the page tells the state of the source, works without anything from elsewhere, and escapes whatever the source says', async () => {
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
      expect(text).toContain('<strong>invoices: deletions held back</strong> since 20');
      expect(text).toContain('<progress value="0"');
      expect(text).toMatch(/As of [-\d]+ [:\d]+ UTC; /);
      expect(text).toContain('Times are in UTC.');
      expect(text).toContain('&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;&#39; [secret]');
      expect(text).not.toMatch(/<script|secret-1|src=|href=|url\(| style=/);
      const style = /<style>([\s\S]*)<\/style>/.exec(text)?.[1] as string;
      const hash = createHash('sha256').update(style).digest('base64');
      expect(headers['content-security-policy']).toContain(`style-src 'sha256-${hash}'`);
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

test('a source whose schema is gone is told as such, and the others are shown', async () => {
  await withDatabase(async database => {
    const served = servedSource(database);
    await withService(
      database,
      { sources: [served, { ...served, name: 'other', schema: 'gone' }] },
      async ({ url }) => {
        const { status, text } = await ask(`${url}/`);
        expect([status, text.match(/Nothing is wrong/g)?.length]).toEqual([200, 1]);
        expect(text).toMatch(/<h2>other<\/h2>\s*<div class="trouble"><strong>.*cannot be read[\s\S]*gone\.customers/);
      },
    );
  });
});

test('the page and the queries of status show a run under way and the last failure behind any number of newer runs', async () => {
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
      expect(text).toMatch(/Under way[\s\S]*<td class="text">transactions<\/td><td class="text">backfill<\/td>/);
      expect(text).toContain('It answered nonsense.');
    });
    await endRun(kysely, await startRun(kysely, of('invoices', 'slot')), { state: 'done' });
    expect(await failedLast(kysely, 'main', ['customers', 'invoices', 'transactions'])).toEqual([]);
  });
});

test('requests to paths that are not there are told which are', async () => {
  await withDatabase(async database => {
    await withService(database, {}, async ({ url }) => {
      expect(await ask(`${url}/nothing`)).toMatchObject({
        status: 404,
        text: expect.stringContaining('/metrics') as string,
      });
      expect((await ask(`${url}/`, { method: 'POST', body: 'x' })).status).toBe(404);
    });
  });
});

test('it closes although a client stays connected', async () => {
  await withDatabase(async database => {
    let served = '';
    await withService(database, {}, async ({ url }) => {
      served = url;
      await fetch(`${url}/healthz`);
    });
    await expect(fetch(`${served}/healthz`)).rejects.toThrow();
  });
});
