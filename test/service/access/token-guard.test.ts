import { expect, test } from 'vitest';
import { withDatabase } from '../../support/database.ts';
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
        expect((await ask(`${url}/metrics`, { headers: { host } })).status).toBe(403);
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
