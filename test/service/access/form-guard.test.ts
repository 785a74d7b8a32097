import { Hono } from 'hono';
import { html } from 'hono/html';
import { expect, test } from 'vitest';
import { csrfField, guardForms } from '../../../src/service/access/form-guard.ts';
import { withDatabase } from '../../support/database.ts';
import { ask, withService } from '../with-service.ts';

const HERE = 'http://here.example';
let orders = 0;
const app = new Hono()
  .use(guardForms())
  .get('/', async c => c.html(html`<form method="post">${csrfField(c)}</form>`))
  .all('/order', async c => {
    orders += 1;
    return c.text(String((await c.req.parseBody()).resource));
  });

/** What a browser holds after it opened the page. */
async function openPage() {
  const page = await app.request(`${HERE}/`);
  const cookie = page.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  const csrf = /name="csrf" value="([^"]+)"/.exec(await page.text())?.[1] ?? '';
  return { cookie, csrf };
}

async function send(fields: Record<string, string>, headers: Record<string, string>, method = 'POST') {
  const before = orders;
  const body = new URLSearchParams(fields).toString();
  const response = await app.request(`${HERE}/order`, {
    method,
    headers: {
      host: 'here.example',
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': String(Buffer.byteLength(body)),
      ...headers,
    },
    body,
  });
  return { status: response.status, text: await response.text(), ran: orders > before };
}

test('a form with the field of this browser is admitted, and its route reads the fields', async () => {
  const { cookie, csrf } = await openPage();
  expect(await send({ csrf, resource: 'a&b' }, { cookie })).toEqual({ status: 200, text: 'a&b', ran: true });
});

test('a form without the field, with a wrong one, or with that of another browser is refused before its route runs', async () => {
  const [own, other] = [await openPage(), await openPage()];
  const refused = { status: 403, text: expect.stringContaining('reload the page') as string, ran: false };
  const { cookie, csrf } = own;
  expect(await send({ resource: 'x' }, { cookie })).toEqual(refused);
  expect(await send({ csrf: '' }, { cookie })).toEqual(refused);
  expect(await send({ csrf: `${csrf}x` }, { cookie })).toEqual(refused);
  expect(await send({ csrf: other.csrf }, { cookie })).toEqual(refused);
  expect(await send({ csrf }, {})).toEqual(refused);
  // The field of a visitor is worth nothing to a browser that has a session.
  expect(await send({ csrf }, { cookie: `${cookie}; sluice=session` })).toEqual(refused);
  for (const method of ['PUT', 'PATCH', 'DELETE']) expect(await send({}, { cookie }, method)).toEqual(refused);
});

test('a form that a page of another site sent is refused although its field is right', async () => {
  const { cookie, csrf } = await openPage();
  const statusWith = async (headers: Record<string, string>) => (await send({ csrf }, { cookie, ...headers })).status;
  for (const site of ['cross-site', 'same-site', 'unheard-of'])
    expect([site, await statusWith({ 'sec-fetch-site': site, origin: HERE })]).toEqual([site, 403]);
  for (const origin of [
    'http://evil.example',
    'http://here.example:81',
    'http://here.example.evil.example',
    'here.example',
    '',
  ])
    expect([origin, await statusWith({ origin })]).toEqual([origin, 403]);
  for (const site of ['same-origin', 'none'])
    expect([site, await statusWith({ 'sec-fetch-site': site, origin: 'null' })]).toEqual([site, 200]);
  // Behind a proxy with TLS that keeps the host.
  for (const origin of [HERE, 'https://here.example', 'null'])
    expect([origin, await statusWith({ origin })]).toEqual([origin, 200]);
  expect(await statusWith({ host: 'HERE.example', origin: HERE })).toBe(200);
});

test('a body of another type, above 64 KB, or of unknown length is refused unread', async () => {
  const { cookie, csrf } = await openPage();
  for (const type of ['text/plain', 'multipart/form-data; boundary=x', 'application/json'])
    expect([type, (await send({ csrf }, { cookie, 'content-type': type })).status]).toEqual([type, 415]);
  const most = 64 * 1024 - new URLSearchParams({ csrf, resource: '' }).toString().length;
  expect((await send({ csrf, resource: 'x'.repeat(most) }, { cookie })).status).toBe(200);
  expect(await send({ csrf, resource: 'x'.repeat(most + 1) }, { cookie })).toMatchObject({ status: 413, ran: false });

  await withDatabase(async database => {
    await withService(database, {}, async ({ url }) => {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      const chunked = await ask(`${url}/order`, {
        method: 'POST',
        headers: { ...headers, 'transfer-encoding': 'chunked' },
        body: 'x'.repeat(1_000_000),
      });
      expect(chunked.status).toBe(411);
      const large = await ask(`${url}/order`, {
        method: 'POST',
        headers: { ...headers, 'content-length': '1000000' },
        body: 'x'.repeat(1_000_000),
      });
      expect(large.status).toBe(413);
      expect((await ask(`${url}/`)).status).toBe(200);
    });
  });
});

test('the service refuses every request but GET without the field, with a token and without', async () => {
  const token = 'token-5f/+&"x';
  await withDatabase(async database => {
    for (const options of [{}, { token }])
      await withService(database, options, async ({ url }) => {
        const headers = {
          authorization: `Bearer ${token}`,
          'content-type': 'application/x-www-form-urlencoded',
          'content-length': '3',
        };
        for (const path of ['/', '/login', '/logout', '/metrics', '/nothing'])
          for (const method of ['POST', 'PUT', 'DELETE']) {
            const { status, text } = await ask(`${url}${path}`, { method, headers, body: 'a=1' });
            expect([path, method, status, text]).toEqual([path, method, 403, expect.stringContaining('out of date')]);
          }
      });
  });
});

test('a webhook needs no field', async () => {
  await withDatabase(async database => {
    await withService(database, {}, async ({ url }) => {
      const { status, text } = await ask(`${url}/webhooks/unknown`, { method: 'POST', body: '{}' });
      expect([status, text]).toEqual([404, expect.not.stringContaining('form')]);
    });
  });
});

const twoForms = new Hono().get('/', async c => c.html(html`${csrfField(c)}${csrfField(c)}`));
const fieldsOf = async (response: Response) =>
  [...(await response.text()).matchAll(/name="csrf" value="([\w-]{43})"/g)].map(match => match[1]);

test('all forms of a page carry the same value, which belongs to the cookie of the browser', async () => {
  const first = await twoForms.request('/');
  const [cookie, ...more] = first.headers.getSetCookie();
  expect(more).toEqual([]);
  expect(cookie).toMatch(/^sluice-visitor=[\w-]{32}; Path=\/; HttpOnly; SameSite=Strict$/);
  const fields = await fieldsOf(first);
  expect(fields).toHaveLength(2);
  expect(fields[0]).toBe(fields[1]);
  expect(cookie).not.toContain(fields[0]);

  const again = await twoForms.request('/', { headers: { cookie: cookie?.split(';')[0] as string } });
  expect(again.headers.getSetCookie()).toEqual([]);
  expect(await fieldsOf(again)).toEqual(fields);
  expect(await fieldsOf(await twoForms.request('/'))).not.toEqual(fields);
  const session = await twoForms.request('/', { headers: { cookie: 'sluice=session' } });
  expect(session.headers.getSetCookie()).toEqual([]);
  expect(await fieldsOf(session)).not.toEqual(fields);
});

test('behind HTTPS the cookie needs HTTPS', async () => {
  const secure = await twoForms.request('/', { headers: { 'x-forwarded-proto': 'https, http' } });
  expect(secure.headers.getSetCookie()[0]).toMatch(/; Secure/);
});
