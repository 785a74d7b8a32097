import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { describe, expect, test } from 'vitest';
import { post } from '../../../src/service/notify/post.ts';
import { isPrivateAddress } from '../../../src/service/notify/private-address.ts';
import { accept, withReceiver } from './with-receiver.ts';

const never = new AbortController().signal;
const given = { body: '{}', allowPrivate: false, signal: never };

/** Answers with these addresses in turn; the last stays. */
function lookupOf(...answers: string[][]): { lookup: LookupFunction; asked: () => number } {
  let count = 0;
  const lookup: LookupFunction = (_host, options, done) => {
    const found = answers[Math.min(count++, answers.length - 1)] ?? [];
    const addresses: LookupAddress[] = found.map(address => ({ address, family: address.includes(':') ? 6 : 4 }));
    if (options.all) done(null, addresses);
    else done(null, addresses[0]?.address ?? '', addresses[0]?.family);
  };
  return { lookup, asked: () => count };
}

test.each([
  '127.0.0.1',
  '127.9.9.9',
  '0.0.0.0',
  '10.1.2.3',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '169.254.169.254',
  '100.64.0.1',
  '100.127.255.255',
  '192.0.2.1',
  '198.18.0.1',
  '198.19.9.9',
  '203.0.113.9',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::ffff:127.0.0.1',
  '::ffff:8.8.8.8',
  '::ffff:7f00:1',
  '64:ff9b::a00:1',
  'fc00::1',
  'fd12::1',
  'fe80::1',
  'fe80::1%eth0',
  'fec0::1',
  'ff02::1',
  '2001::1',
  '2001:db8::1',
  '2002:7f00:1::',
  '3fff::1',
  '100::1',
  '5f00::1',
  'nonsense',
  '',
])('%s is private', address => {
  expect(isPrivateAddress(address)).toBe(true);
});

test.each([
  '8.8.8.8',
  '1.1.1.1',
  '100.63.255.255',
  '100.128.0.1',
  '172.15.0.1',
  '172.32.0.1',
  '192.167.1.1',
  '223.255.255.255',
  '2606:4700::1111',
  '2a00:1450::1',
  '2001:4860::8888',
])('%s is public', address => {
  expect(isPrivateAddress(address)).toBe(false);
});

describe('no request reaches this machine or a private network', () => {
  test.each([
    'https://127.0.0.1/x',
    'https://127.1/x',
    'https://0x7f.0.0.1/x',
    'https://2130706433/x',
    'https://[::1]/x',
    'https://[::ffff:127.0.0.1]/x',
    'https://10.0.0.8/x',
    'https://169.254.169.254/latest',
    'https://[fd00::1]/x',
    'https://localhost/x',
  ])('%s', async url => {
    expect(await post(url, given)).toMatchObject({
      isDelivered: false,
      reason: expect.stringContaining('private network'),
    });
  });

  test.each([
    ['one', ['127.0.0.1']],
    ['one of several', ['8.8.8.8', '10.0.0.1']],
    ['a mapped one', ['::ffff:10.0.0.1']],
    ['none', []],
  ])('through a name: %s', async (_name, addresses) => {
    const { lookup } = lookupOf(addresses);
    expect(await post('https://hooks.example.com/x', { ...given, lookup })).toMatchObject({
      isDelivered: false,
      reason: 'hooks.example.com has an address in a private network',
    });
  });

  test('through a name that has another address at the second look', async () => {
    // The connection goes to what was checked; nothing listens there.
    const { lookup, asked } = lookupOf(['192.0.2.1'], ['127.0.0.1']);
    const refused = await post('https://hooks.example.com/x', { ...given, lookup });
    expect([refused, asked()]).toMatchObject([{ reason: expect.stringContaining('private network') }, 1]);
  });

  test('over http', async () => {
    await withReceiver(accept, async ({ url, got }) => {
      for (const each of [url, url.replace('127.0.0.1', 'localhost')])
        expect((await post(each, given)).isDelivered).toBe(false);
      expect((await post('http://hooks.example.com/x', { ...given, allowPrivate: true })).isDelivered).toBe(false);
      expect(got).toEqual([]);
    });
  });
});

const allowed = { body: '{"a":1}', allowPrivate: true, signal: never };

test('an address that is allowed to be private is delivered to, by name as well', async () => {
  await withReceiver(accept, async ({ url, got }) => {
    expect(await post(url, allowed)).toEqual({ isDelivered: true });
    expect(
      await post(url.replace('127.0.0.1', 'localhost'), { ...allowed, lookup: lookupOf(['127.0.0.1']).lookup }),
    ).toEqual({
      isDelivered: true,
    });
    expect(got.map(({ body }) => body)).toEqual(['{"a":1}', '{"a":1}']);
  });
});

test('a redirect is not followed', async () => {
  await withReceiver(accept, async other => {
    await withReceiver(
      (_got, response) => response.writeHead(307, { location: other.url }).end(),
      async ({ url }) => {
        expect(await post(url, allowed)).toMatchObject({
          isDelivered: false,
          status: 307,
          reason: 'it answered HTTP 307, a redirect, which is not followed',
        });
        expect(other.got).toEqual([]);
      },
    );
  });
});

test('of an answer without end, its beginning decides', async () => {
  let sent = 0;
  await withReceiver(
    (_got, response) => {
      response.writeHead(200);
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536))) sent += 65_536;
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    },
    async ({ url }) => {
      expect(await post(url, allowed)).toEqual({ isDelivered: true });
      expect(sent).toBeLessThan(64 * 1024 * 1024);
    },
  );
});

test.concurrent('a receiver that does not answer is given up after ten seconds, and at once when the process stops', {
  timeout: 20_000,
}, async () => {
  await withReceiver(
    () => undefined,
    async ({ url }) => {
      const begun = performance.now();
      expect(await post(url, allowed)).toMatchObject({ isDelivered: false, reason: 'no answer within 10 seconds' });
      expect(performance.now() - begun).toBeGreaterThan(9900);
      const stopping = new AbortController();
      const sending = post(url, { ...allowed, signal: stopping.signal });
      setTimeout(() => stopping.abort(), 20);
      await expect(sending).rejects.toMatchObject({ kind: 'stopped' });
    },
  );
});

test.concurrent('a receiver whose answer trickles has accepted once its status came', { timeout: 20_000 }, async () => {
  await withReceiver(
    (_got, response) => {
      response.writeHead(202);
      const timer = setInterval(() => response.write('.'), 100);
      response.on('close', () => clearInterval(timer));
    },
    async ({ url }) => expect(await post(url, allowed)).toEqual({ isDelivered: true }),
  );
});

test('a connection that is refused or cut off is a failure', async () => {
  await withReceiver(
    (_got, response) => void response.destroy(),
    async ({ url }) => {
      const cut = await post(url, allowed);
      expect(cut).toMatchObject({ isDelivered: false, status: null });
      expect((cut as { reason: string }).reason).not.toBe('');
    },
  );
  expect(await post('http://127.0.0.1:1/x', allowed)).toMatchObject({
    reason: expect.stringContaining('ECONNREFUSED'),
  });
});
