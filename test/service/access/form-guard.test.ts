import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { guardForms } from '../../../src/service/access/form-guard.ts';
import { withDatabase } from '../../support/database.ts';
import { ask, withService } from '../with-service.ts';

const HERE = 'http://here.example';
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
let orders = 0;
const app = new Hono().use(guardForms()).all('/order', async c => {
  orders += 1;
  return c.text(String((await c.req.parseBody()).resource));
});

async function send(resource: string, headers: Record<string, string>, method = 'POST') {
  const before = orders;
  const body = new URLSearchParams({ resource }).toString();
  const length = { 'content-length': String(Buffer.byteLength(body)) };
  const response = await app.request(`${HERE}/order`, {
    method,
    headers: { host: 'here.example', ...FORM, ...length, ...headers },
    body,
  });
  return { status: response.status, text: await response.text(), ran: orders > before };
}

test('a form of a page of this host is admitted, and its route reads the fields', async () => {
  expect(await send('a&b', { origin: HERE })).toEqual({ status: 200, text: 'a&b', ran: true });
  for (const site of ['same-origin', 'none'])
    expect([site, (await send('x', { 'sec-fetch-site': site, origin: 'null' })).status]).toEqual([site, 200]);
  // Behind a proxy with TLS that keeps the host.
  expect((await send('x', { origin: 'https://here.example' })).status).toBe(200);
  expect((await send('x', { host: 'HERE.example', origin: HERE })).status).toBe(200);
});

test('a form of a page of another site, or of an unknown one, is refused before its route runs', async () => {
  const refused = { status: 403, text: expect.stringContaining('another site') as string, ran: false };
  for (const site of ['cross-site', 'same-site', 'unheard-of'])
    expect([site, await send('x', { 'sec-fetch-site': site, origin: HERE })]).toEqual([site, refused]);
  for (const origin of [
    'http://evil.example',
    'http://here.example:81',
    'http://here.example.evil.example',
    'here.example',
    'null',
    '',
  ])
    expect([origin, await send('x', { origin })]).toEqual([origin, refused]);
  expect(await send('x', {})).toEqual(refused);
  for (const method of ['PUT', 'PATCH', 'DELETE']) expect(await send('x', {}, method)).toEqual(refused);
});

test('a body of another type, above 64 KB, or of unknown length is refused unread', async () => {
  const own = { origin: HERE };
  for (const type of ['text/plain', 'multipart/form-data; boundary=x', 'application/json'])
    expect([type, (await send('', { ...own, 'content-type': type })).status]).toEqual([type, 415]);
  const most = 64 * 1024 - 'resource='.length;
  expect((await send('x'.repeat(most), own)).status).toBe(200);
  expect(await send('x'.repeat(most + 1), own)).toMatchObject({ status: 413, ran: false });

  await withDatabase(async database => {
    await withService(database, {}, async ({ url }) => {
      const headers = { ...FORM, origin: url };
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

test('the service refuses every request but GET that no page of it sent, with a token and without', async () => {
  const token = 'token-5f/+&"x';
  await withDatabase(async database => {
    for (const options of [{}, { token }])
      await withService(database, options, async ({ url }) => {
        const headers = { ...FORM, authorization: `Bearer ${token}`, 'content-length': '3' };
        for (const path of ['/', '/login', '/logout', '/metrics', '/nothing'])
          for (const method of ['POST', 'PUT', 'DELETE']) {
            const { status, text } = await ask(`${url}${path}`, { method, headers, body: 'a=1' });
            expect([path, method, status, text]).toEqual([path, method, 403, expect.stringContaining('another site')]);
          }
      });
  });
});

test('a webhook may come from elsewhere', async () => {
  await withDatabase(async database => {
    await withService(database, {}, async ({ url }) => {
      const { status, text } = await ask(`${url}/webhooks/unknown`, { method: 'POST', body: '{}' });
      expect([status, text]).toEqual([404, expect.not.stringContaining('form')]);
    });
  });
});
