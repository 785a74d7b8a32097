import { expect, test } from 'vitest';
import { withDatabase } from '../../support/database.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { type Answer, ask, withService } from '../with-service.ts';

const TOKEN = 'token-5f/+&"x';

/** A browser without scripts: keeps cookies, and sends the one form of the page that it shows. */
function browser(url: string, cookies = new Map<string, string>()) {
  const request = async (
    path: string,
    options: { method?: string; headers?: Record<string, string>; body?: string },
  ) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { accept: 'text/html,*/*;q=0.8', ...(cookie === '' ? {} : { cookie }), ...options.headers };
    const answer = await ask(`${url}${path}`, { ...options, headers });
    for (const line of answer.headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/Max-Age=0/i.test(line)) cookies.delete(name);
      else cookies.set(name, value);
    }
    return answer;
  };
  return {
    hasSession: () => cookies.size > 0,
    open: (path: string) => request(path, {}),
    send: (page: Answer, fields: Record<string, string> = {}) => {
      const hidden = [...page.text.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)];
      const given = Object.fromEntries(
        hidden.map(([, name = '', value = '']) => [name, value.replaceAll('&amp;', '&')]),
      );
      return request(/<form[^>]* action="([^"]+)"/.exec(page.text)?.[1] ?? '', {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', origin: url, 'sec-fetch-site': 'same-origin' },
        body: new URLSearchParams({ ...given, ...fields }).toString(),
      });
    },
  };
}

const wrongSession = (url: string) => `sluice_${new URL(url).port}=wrong`;

test('a browser without a session is asked for the token, and gets the page that it asked for', async () => {
  await withDatabase(async database => {
    await withService(database, { token: TOKEN }, async ({ url }) => {
      const { hasSession, open, send } = browser(url);
      const asked = await open('/sources/main?page=2');
      expect(asked.status).toBe(401);
      expect(asked.headers['www-authenticate']).toBe('Bearer realm="sluice"');
      expect(asked.text).toContain('<label for="token">Token</label>');
      expect(asked.text).not.toMatch(/<script|http-equiv| style=| on\w+=/);
      expect((await ask(`${url}/console.css`)).status).toBe(200);
      expect((await ask(`${url}/console.js`)).status).toBe(401);

      const wrong = await send(asked, { token: '"><script>' });
      expect([wrong.status, hasSession()]).toEqual([401, false]);
      expect(wrong.text).toContain('<p class="bad" role="alert" id="trouble">That is not the token.</p>');
      expect(wrong.text).not.toContain('<script>');

      const right = await send(wrong, { token: TOKEN });
      expect([right.status, right.headers.location]).toEqual([303, '/sources/main?page=2']);
      expect(right.headers['set-cookie']).toEqual([
        expect.stringMatching(/^sluice_\d+=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Strict$/),
      ]);
      expect((await open('/sources/main')).status).toBe(200);
      // In another browser nothing has changed.
      expect((await browser(url).open('/sources/main')).status).toBe(401);
    });
  });
});

test('a link of another site is opened once more from here, so that the strict cookie comes along', async () => {
  await withDatabase(async database => {
    await withService(database, { token: TOKEN }, async ({ url }) => {
      const headers = { accept: 'text/html', 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' };
      const { status, text } = await ask(`${url}/sources/main?months=invoices`, { headers });
      expect(status).toBe(401);
      expect(text).toContain('<meta http-equiv="refresh" content="0; url=/sources/main?months=invoices">');
      expect((await ask(`${url}/`, { headers: { ...headers, cookie: wrongSession(url) } })).text).not.toContain(
        'refresh',
      );
    });
  });
});

test('1,000 wrong logins find nothing: of one address ten are looked at in a minute', async () => {
  await withDatabase(async database => {
    await withService(database, { token: TOKEN, clock: manualClock() }, async ({ url }) => {
      const { open, send } = browser(url);
      const page = await open('/');
      const seen = new Map<number, number>();
      for (let times = 0; times < 1000; times++) {
        const { status } = await send(page, { token: `wrong-${times}` });
        seen.set(status, (seen.get(status) ?? 0) + 1);
      }
      expect(seen).toEqual(
        new Map([
          [401, 10],
          [429, 990],
        ]),
      );
    });
  });
});

test('a login never leads to another site', async () => {
  await withDatabase(async database => {
    await withService(database, { token: TOKEN }, async ({ url }) => {
      for (const next of [
        '//evil.example',
        'https://evil.example/',
        '/\\evil.example',
        '/\t/evil.example',
        'evil',
        '',
        '/a?b#c',
      ]) {
        const { open, send } = browser(url);
        expect([next, (await send(await open('/'), { token: TOKEN, next })).headers.location]).toEqual([next, '/']);
      }
    });
  });
});

test('logging out ends the session of this browser', async () => {
  await withDatabase(async database => {
    await withService(database, { token: TOKEN }, async ({ url }) => {
      const { hasSession, open, send } = browser(url);
      const before = await open('/login');
      expect(before.status).toBe(401);
      expect((await send(before, { token: TOKEN })).headers.location).toBe('/');
      const page = await open('/login');
      expect([page.status, page.text]).toEqual([200, expect.stringContaining('Log out')]);
      const left = await send(page);
      expect([left.status, left.headers.location, hasSession()]).toEqual([303, '/login', false]);
      expect((await open('/')).status).toBe(401);
      expect((await send(page)).status).toBe(401);
    });
  });
});

test('a session ends with the token; its cookie is dropped, so that open pages do not use up the attempts', async () => {
  await withDatabase(async database => {
    const cookies = new Map<string, string>();
    let port = 0;
    await withService(database, { token: TOKEN }, async ({ url }) => {
      port = Number(new URL(url).port);
      const { open, send } = browser(url, cookies);
      await send(await open('/'), { token: TOKEN });
    });
    await withService(database, { token: 'another-token-1234', port }, async ({ url }) => {
      const { hasSession, open, send } = browser(url, cookies);
      expect(hasSession()).toBe(true);
      let page = await open('/');
      expect(hasSession()).toBe(false);
      for (let times = 0; times < 20; times++) page = await open('/');
      expect(page.status).toBe(401);
      expect((await send(page, { token: 'another-token-1234' })).status).toBe(303);
    });
  });
});

test('two services on one host do not end the sessions of each other', async () => {
  await withDatabase(async database => {
    await withService(database, { token: TOKEN }, async one => {
      await withService(database, { token: 'another-token-1234' }, async other => {
        const cookies = new Map<string, string>();
        const [here, there] = [browser(one.url, cookies), browser(other.url, cookies)];
        await here.send(await here.open('/'), { token: TOKEN });
        await there.send(await there.open('/'), { token: 'another-token-1234' });
        expect([(await here.open('/')).status, (await there.open('/')).status]).toEqual([200, 200]);
        await there.send(await there.open('/login'));
        expect([(await here.open('/')).status, (await there.open('/')).status]).toEqual([200, 401]);
      });
    });
  });
});

test('logins, headers, cookies and addresses share the limit of wrong tokens', async () => {
  const clock = manualClock();
  await withDatabase(async database => {
    await withService(database, { token: TOKEN, clock }, async ({ url }) => {
      const { open, send } = browser(url);
      const page = await open('/');
      for (let times = 0; times < 7; times++) expect((await send(page, { token: `wrong-${times}` })).status).toBe(401);
      expect((await ask(`${url}/`, { headers: { authorization: 'Bearer wrong' } })).status).toBe(401);
      expect((await open('/?token=wrong')).text).toContain('That is not the token.');
      expect((await ask(`${url}/login`, { headers: { cookie: wrongSession(url) } })).status).toBe(401);

      const refused = await send(page, { token: TOKEN });
      expect([refused.status, refused.headers['retry-after']]).toEqual([429, '60']);
      expect(refused.text).toContain('Too many wrong tokens. Wait 60 seconds.');
      expect((await open(`/?token=${encodeURIComponent(TOKEN)}`)).status).toBe(429);
      clock.advance(60_000);
      expect((await send(page, { token: TOKEN })).status).toBe(303);
    });
  });
});

test('forms from elsewhere do not count as attempts', async () => {
  await withDatabase(async database => {
    await withService(database, { token: TOKEN }, async ({ url }) => {
      for (let times = 0; times < 20; times++) {
        const { status } = await ask(`${url}/login`, {
          method: 'POST',
          headers: { 'content-type': 'application/x-www-form-urlencoded', origin: 'http://evil.example' },
          body: 'token=wrong',
        });
        expect(status).toBe(403);
      }
      expect((await ask(`${url}/`, { headers: { authorization: `Bearer ${TOKEN}` } })).status).toBe(200);
    });
  });
});

test('without a token there is nothing to log in to', async () => {
  await withDatabase(async database => {
    await withService(database, {}, async ({ url }) => {
      expect((await browser(url).open('/login')).status).toBe(404);
    });
  });
});
