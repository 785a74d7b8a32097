import { expect, test } from 'vitest';
import type { SandboxOptions } from '../../../sandbox/sandbox.ts';
import { openForTest } from '../test-client.ts';

async function read(charset: NonNullable<NonNullable<SandboxOptions['variants']>['charset']>) {
  const sandbox = await openForTest({ variants: { charset, 'extra-fields': 'yes' } });
  const response = await fetch(`${sandbox.url}/api/v2/customers?limit=100`, {
    headers: { authorization: `Bearer ${sandbox.apiKey}` },
  });
  const type = response.headers.get('content-type');
  const names = [...sandbox.rows('customers')].reverse().map(({ account }) => account);
  return { bytes: Buffer.from(await response.arrayBuffer()), type, names: names.slice(0, 100) };
}

const namesIn = (text: string) => (JSON.parse(text) as { data: { account: string }[] }).data.map(row => row.account);

test('charset=latin1: ISO-8859-1, with other characters escaped', async () => {
  const { bytes, type, names } = await read('latin1');
  expect(type).toBe('application/json; charset=iso-8859-1');
  expect(namesIn(bytes.toString('latin1'))).toEqual(names);
  expect(bytes.includes(0xfc)).toBe(true);
});

test('charset=broken: letters from À to ÿ are one invalid byte each', async () => {
  const { bytes, type, names } = await read('broken');
  expect(type).toBe('application/json; charset=utf-8');
  expect(namesIn(bytes.toString('utf8'))).toEqual(names.map(name => name.replace(/[À-ÿ]/g, '\ufffd')));
  expect(names.some(name => /[À-ÿ]/.test(name))).toBe(true);
});
