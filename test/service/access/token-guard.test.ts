import { expect, test } from 'vitest';
import { pathOnSite } from '../../../src/service/access/login.ts';
import { withDatabase } from '../../support/database.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { ask, withService } from '../with-service.ts';

const TOKEN = 'token-5f/+&"x';

test('without a token the service answers only requests to loopback names', async () => {
  await withDatabase(async database => {
    await withService(database, {}, async ({ url }) => {
      const { port } = new URL(url);
      for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`, '127.0.0.1'])
        expect((await ask(`${url}/`, { headers: { host } })).status).toBe(200);
      for (const host of [`evil.example:${port}`, '127.0.0.1.evil.example', 'localhost.evil.example:80']) {
        const { status, text } = await ask(`${url}/`, { headers: { host } });
        expect([status, text]).toEqual([403, expect.stringContaining('SLUICE_TOKEN')]);
        for (const path of ['/metrics', '/readyz', '/nothing'])
          expect((await ask(`${url}${path}`, { headers: { host } })).status).toBe(403);
        // A probe may come by any name.
        expect((await ask(`${url}/healthz`, { headers: { host } })).status).toBe(200);
      }
    });
  });
});

test('the token is accepted as a Bearer header, as a cookie, or once in the address, which redirects to an address without it', async () => {
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
      const metrics = await ask(`${url}/metrics?token=${encodeURIComponent(TOKEN)}`);
      expect([metrics.status, metrics.headers.location]).toEqual([303, '/metrics']);
      const cookie = entered.headers['set-cookie']?.[0] as string;
      expect(cookie).toMatch(/HttpOnly; SameSite=Strict/);
      expect(cookie).not.toContain(encodeURIComponent(TOKEN));
      expect((await ask(`${url}/`, { headers: { cookie: cookie.split(';')[0] as string } })).status).toBe(200);
      expect((await ask(`${url}/`, { headers: { cookie: `sluice_${new URL(url).port}=x` } })).status).toBe(401);
    });
  });
});

test('a redirect with the token never leads to another site', async () => {
  const separators = ['/', '\\', '%2f', '%5c', '%255c', '%252f'];
  const ignored = [
    '',
    '%09',
    '%0a',
    '%0d',
    '%00',
    '%20',
    '%0b',
    '%7f',
    '%c2%85',
    '%2509',
    '.',
    '%2e',
    '%e2%80%a8',
    '@',
  ];
  const paths = separators.flatMap(first =>
    ignored.flatMap(between => ['/', '\\', '%2f', '%5c'].map(second => `/${first}${between}${second}evil.example/`)),
  );
  const hostile = [...new Set(['/%09/evil.example', '//evil.example', '/%09%09//evil.example', ...paths])];
  await withDatabase(async database => {
    await withService(database, { token: TOKEN }, async ({ url }) => {
      for (const path of hostile) {
        const { status, headers } = await ask(`${url}${path}?token=${encodeURIComponent(TOKEN)}`);
        const location = String(headers.location);
        expect([path, status, new URL(location, url).origin, location]).toEqual([path, 303, url, '/']);
      }
    });
  });
  const seen = Array.from({ length: 0x300 }, (_, code) => `/${String.fromCharCode(code)}/evil.example`);
  for (const path of seen)
    expect(new URL(pathOnSite(path), 'http://here.example').host, JSON.stringify(path)).toBe('here.example');
});

test('after ten wrong tokens within a minute, no token of that address is looked at until the minute is over', async () => {
  const clock = manualClock();
  await withDatabase(async database => {
    await withService(database, { token: TOKEN, clock }, async ({ url }) => {
      const bearer = (token: string) => ask(`${url}/`, { headers: { authorization: `Bearer ${token}` } });
      const cookie = (text: string) => ask(`${url}/`, { headers: { cookie: `sluice_${new URL(url).port}=${text}` } });
      // A request without a token is no attempt.
      for (let times = 0; times < 20; times++) expect((await ask(`${url}/`)).status).toBe(401);
      for (let times = 0; times < 4; times++) expect((await bearer(`wrong-${times}`)).status).toBe(401);
      for (let times = 0; times < 3; times++) expect((await ask(`${url}/?token=wrong-${times}`)).status).toBe(401);
      clock.advance(20_000);
      for (let times = 0; times < 3; times++) expect((await cookie(`wrong-${times}`)).status).toBe(401);

      for (const attempt of [bearer(TOKEN), ask(`${url}/?token=${encodeURIComponent(TOKEN)}`), cookie('wrong')]) {
        const { status, headers, text } = await attempt;
        expect([status, headers['retry-after'], text]).toEqual([
          429,
          '40',
          'Too many wrong tokens. Wait 40 seconds.\n',
        ]);
      }
      for (const path of ['/healthz', '/readyz']) expect((await ask(`${url}${path}`)).status).toBe(200);
      clock.advance(40_000);
      expect((await bearer(TOKEN)).status).toBe(200);
    });
  });
});
