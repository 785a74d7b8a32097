import { Hono } from 'hono';
import { html } from 'hono/html';
import { expect, test } from 'vitest';
import { csrfField } from '../../../src/service/access/form-guard.ts';

const app = new Hono().get('/', async c => c.html(html`${csrfField(c)}${csrfField(c)}`));
const fieldsOf = async (response: Response) =>
  [...(await response.text()).matchAll(/name="csrf" value="([\w-]{43})"/g)].map(match => match[1]);

test('all forms of a page carry the same value, which belongs to the cookie of the browser', async () => {
  const first = await app.request('/');
  const [cookie, ...more] = first.headers.getSetCookie();
  expect(more).toEqual([]);
  expect(cookie).toMatch(/^sluice-visitor=[\w-]{32}; Path=\/; HttpOnly; SameSite=Strict$/);
  const fields = await fieldsOf(first);
  expect(fields).toHaveLength(2);
  expect(fields[0]).toBe(fields[1]);
  expect(cookie).not.toContain(fields[0]);

  const again = await app.request('/', { headers: { cookie: cookie?.split(';')[0] as string } });
  expect(again.headers.getSetCookie()).toEqual([]);
  expect(await fieldsOf(again)).toEqual(fields);
  expect(await fieldsOf(await app.request('/'))).not.toEqual(fields);
  const session = await app.request('/', { headers: { cookie: 'sluice=session' } });
  expect(session.headers.getSetCookie()).toEqual([]);
  expect(await fieldsOf(session)).not.toEqual(fields);
});

test('behind HTTPS the cookie needs HTTPS', async () => {
  const secure = await app.request('/', { headers: { 'x-forwarded-proto': 'https, http' } });
  expect(secure.headers.getSetCookie()[0]).toMatch(/; Secure/);
});
