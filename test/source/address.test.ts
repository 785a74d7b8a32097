import { describe, expect, it } from 'vitest';
import { createAddress } from '../../src/source/http/address.ts';

const apiKey = 'k+y/with=signs&42';

describe('the base address', () => {
  it.each([
    'http://books.example.com',
    'http://127.0.0.1.example.com',
    'http://localhost.example.com',
    'http://10.0.0.1',
    'ftp://127.0.0.1',
    'books.example.com',
    'https://me:secret@books.example.com',
    'https://books.example.com/?api_key=secret',
    '',
  ])('%s is refused, and not repeated in the error', url => {
    expect(() => createAddress({ url, apiKey, auth: 'bearer' })).toThrow(
      expect.objectContaining({ kind: 'configuration', message: expect.not.stringContaining('secret') }),
    );
  });

  it.each([
    'http://127.0.0.1:8090',
    'http://127.1.2.3',
    'http://[::1]:80',
    'http://localhost:3000',
    'https://books.example.com',
  ])('%s is accepted', url => {
    expect(createAddress({ url, apiKey, auth: 'bearer' }).url('/api/v2/customers', {})).toMatch(
      /\/api\/v2\/customers$/,
    );
  });

  it('may have a path, and may be pasted with /api/v2', () => {
    const at = (url: string) => createAddress({ url, apiKey, auth: 'bearer' }).url('/api/v2/users', { page: '2' });
    expect(at('https://example.com/crm/')).toBe('https://example.com/crm/api/v2/users?page=2');
    expect(at('https://example.com/crm/api/v2/')).toBe('https://example.com/crm/api/v2/users?page=2');
  });
});

it('the key is sent as the API document says, and nowhere else', () => {
  const bearer = createAddress({ url: 'https://example.com', apiKey, auth: 'bearer' });
  expect(bearer.headers).toEqual({ authorization: `Bearer ${apiKey}` });
  const query = createAddress({ url: 'https://example.com', apiKey, auth: 'query' });
  expect(query.headers).toEqual({});
  const url = query.url('/api/v2/customers', { page: '1' });
  expect(url).toBe(`https://example.com/?api_key=${encodeURIComponent(apiKey)}&ng=api/v2/customers&page=1`);
  expect(new URL(url).searchParams.get('api_key')).toBe(apiKey);
});

it('the key is removed from a text in every form it can have there', () => {
  const { hide } = createAddress({ url: 'https://example.com', apiKey: "it's(k)+y", auth: 'query' });
  const form = new URLSearchParams({ k: "it's(k)+y" }).toString().slice(2);
  expect(hide(`a it's(k)+y b ${encodeURIComponent("it's(k)+y")} c ${form}`)).toBe('a [secret] b [secret] c [secret]');
});

it.each(['', 'with space', 'line\nbreak', 'schlüssel'])('the key %j is refused', key => {
  expect(() => createAddress({ url: 'https://example.com', apiKey: key, auth: 'bearer' })).toThrow(
    expect.objectContaining({ kind: 'configuration', next: expect.stringContaining('API Access') }),
  );
});
