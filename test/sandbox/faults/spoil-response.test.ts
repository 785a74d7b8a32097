import { get, type IncomingMessage } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { endlessFaults, type Fault, faultKinds } from '../../../sandbox/faults/fault-kinds.ts';
import type { Sandbox, SandboxOptions } from '../../../sandbox/sandbox.ts';
import { SECOND } from '../../../src/clock.ts';
import { openForTest, request, TODAY } from '../test-client.ts';

const CUSTOMERS = '/api/v2/customers';

const open = (options: SandboxOptions = {}) => openForTest({ rateLimit: 0, ...options });
const NOON = Date.parse(`${TODAY}T12:00:00Z`);

/** A sandbox whose next request fails. */
async function openFailing(fault: Fault, options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await open(options);
  sandbox.failNext(fault);
  return sandbox;
}

/** Receives the raw bytes of a response until it ends, fails, or has the wanted length. */
function receive(sandbox: Sandbox, path: string, wanted = Number.POSITIVE_INFINITY) {
  return new Promise<{ status: number; encoding: string | undefined; bytes: Buffer; end: string }>(resolve => {
    const chunks: Buffer[] = [];
    let received: IncomingMessage | undefined;
    let length = 0;
    const finish = (end: string) => {
      const { statusCode: status = 0, headers } = received ?? {};
      resolve({ status, encoding: headers?.['content-encoding'], bytes: Buffer.concat(chunks), end });
    };
    const fail = (error: NodeJS.ErrnoException) => finish(error.code ?? error.message);
    const headers = { authorization: `Bearer ${sandbox.apiKey}` };
    const request = get(sandbox.url + path, { headers, agent: false }, response => {
      received = response;
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        length += chunk.length;
        if (length < wanted) return;
        finish('enough');
        request.destroy();
      });
      response.on('end', () => finish('whole'));
      response.on('error', fail);
    });
    request.on('error', fail);
  });
}

describe('failing responses', () => {
  const json = (message: string) => `{"success":false,"message":"${message}"}`;
  const date = new Date(NOON + 5 * SECOND).toUTCString();
  test.for([
    ['json-500', 500, json('Internal Server Error'), null],
    ['html-500', 500, '<!DOCTYPE html>', null],
    ['json-502', 502, json('Bad Gateway'), null],
    ['html-502', 502, '<!DOCTYPE html>', null],
    ['json-503', 503, json('Service Unavailable'), null],
    ['html-503', 503, '<!DOCTYPE html>', null],
    ['json-503-seconds', 503, json('Service Unavailable'), '5'],
    ['html-503-date', 503, '<!DOCTYPE html>', date],
    ['json-429', 429, json('Too Many Requests'), null],
    ['json-429-seconds', 429, json('Too Many Requests'), '5'],
    ['json-429-date', 429, json('Too Many Requests'), date],
    ['html-429', 429, '<!DOCTYPE html>', null],
    ['html-429-seconds', 429, '<!DOCTYPE html>', '5'],
    ['html-429-date', 429, '<!DOCTYPE html>', date],
    ['success-false', 200, '{"success":false,', null],
    ['success-falsy', 200, '{"success":0,', null],
    ['error-200', 200, '{"error":"Temporarily out of order","data":[]', null],
    ['html-200', 200, '<!DOCTYPE html>', null],
    ['empty-200', 200, '', null],
    ['cut-json', 200, '{"success":true,"data":[', null],
  ] as const)('%s', async ([fault, status, start, retryAfter]) => {
    const sandbox = await open();
    sandbox.failNext(fault, 1, 'customers');
    expect((await request(sandbox, '/api/v2/users')).body.success).toBe(true);
    const answer = await request(sandbox, CUSTOMERS);
    expect(answer.status).toBe(status);
    expect(answer.text.startsWith(start)).toBe(true);
    expect(answer.body?.success).not.toBe(true);
    expect(answer.headers.get('content-type')).toContain(start.startsWith('<') ? 'text/html' : 'application/json');
    expect(answer.headers.get('retry-after')).toBe(retryAfter);
    expect((await request(sandbox, CUSTOMERS)).body.success).toBe(true);
  });

  test('a 429 fault shows that the limit is not exhausted, and does not count as a rejection', async () => {
    const sandbox = await openFailing('json-429', { rateLimit: 10, variants: { 'rate-headers': 'only-429' } });
    const { status, headers } = await request(sandbox, CUSTOMERS);
    expect([status, headers.get('x-ratelimit-remaining')]).toEqual([429, '9']);
    expect(sandbox.stats.rejected).toBe(0);
  });

  test.for([
    ['redirect-path', 301, `/login?next=${encodeURIComponent(`${CUSTOMERS}?page=2`)}`],
    ['redirect-loop', 302, `${CUSTOMERS}?page=2`],
    ['redirect-host', 302, `https://elsewhere.invalid${CUSTOMERS}?page=2`],
  ] as const)('%s', async ([fault, status, location]) => {
    const sandbox = await openFailing(fault);
    const response = await fetch(`${sandbox.url}${CUSTOMERS}?page=2`, {
      headers: { authorization: `Bearer ${sandbox.apiKey}` },
      redirect: 'manual',
    });
    expect([response.status, response.headers.get('location')]).toEqual([status, location]);
  });
});

describe('failing connections', () => {
  test('drop and reset: no response', async () => {
    const sandbox = await openFailing('drop');
    expect(await receive(sandbox, CUSTOMERS)).toMatchObject({ status: 0, end: 'ECONNRESET' });
    sandbox.failNext('reset');
    expect(await receive(sandbox, CUSTOMERS)).toMatchObject({ status: 0, end: 'ECONNRESET' });
    expect((await request(sandbox, CUSTOMERS)).status).toBe(200);
  });

  test('reset-body: the first half, then a reset', async () => {
    const sandbox = await open();
    const whole = await receive(sandbox, CUSTOMERS);
    expect(whole.end).toBe('whole');
    sandbox.failNext('reset-body');
    const { status, bytes, end } = await receive(sandbox, CUSTOMERS);
    expect([status, end]).toEqual([200, 'ECONNRESET']);
    expect(bytes.length).toBeGreaterThan(0);
    expect(bytes.length).toBeLessThan(whole.bytes.length);
    expect(bytes.equals(whole.bytes.subarray(0, bytes.length))).toBe(true);
  });

  test('hang: neither headers nor an end until the sandbox closes', async () => {
    const sandbox = await openFailing('hang');
    const hanging = receive(sandbox, CUSTOMERS);
    while (sandbox.stats.total === 0) await new Promise(resolve => setImmediate(resolve));
    expect((await request(sandbox, CUSTOMERS)).status).toBe(200);
    await sandbox.close();
    expect(await hanging).toMatchObject({ status: 0, end: 'ECONNRESET' });
    expect(sandbox.stats.requests[0]?.status).toBe(0);
  });

  test('hang-body: the first half and no end until the sandbox closes', async () => {
    const sandbox = await open();
    const { bytes: whole } = await receive(sandbox, CUSTOMERS);
    sandbox.failNext('hang-body', 2);
    const part = Math.floor(whole.length / 2) - 10;
    const { status, bytes, end } = await receive(sandbox, CUSTOMERS, part);
    expect([status, end]).toEqual([200, 'enough']);
    expect(bytes.equals(whole.subarray(0, bytes.length))).toBe(true);
    const hanging = receive(sandbox, CUSTOMERS);
    await receive(sandbox, CUSTOMERS);
    await sandbox.close();
    expect((await hanging).end).toBe('ECONNRESET');
  });

  test('drip: byte by byte, followed by spaces', async () => {
    const sandbox = await openFailing('drip');
    expect(await receive(sandbox, CUSTOMERS, 3)).toMatchObject({
      status: 200,
      bytes: Buffer.from('{"s'),
      end: 'enough',
    });
    sandbox.setVariants({ 'other-lists': '404' });
    sandbox.failNext('drip');
    const short = '{"success":false,"message":"Not found"}';
    const { bytes } = await receive(sandbox, '/api/v2/orders', 4);
    expect(short.startsWith(bytes.toString())).toBe(true);
  });
});

describe('unusable bodies', () => {
  test('huge: hundreds of megabytes, sent for as long as the client reads', async () => {
    const sandbox = await openFailing('huge');
    const { status, encoding, bytes, end } = await receive(sandbox, CUSTOMERS, 20 * 2 ** 20);
    expect([status, encoding, end]).toEqual([200, undefined, 'enough']);
    expect(bytes.subarray(0, 24).toString()).toBe('{"success":true,"data":[');
  });

  test('huge-gzip: less than one megabyte that decompresses to hundreds of megabytes of valid JSON', async () => {
    const sandbox = await openFailing('huge-gzip');
    const { encoding, bytes, end } = await receive(sandbox, CUSTOMERS);
    expect([encoding, end]).toEqual(['gzip', 'whole']);
    expect(bytes.length).toBeLessThan(2 ** 20);
    const unpacked = gunzipSync(bytes);
    expect(unpacked.length).toBe(256 * 2 ** 20 + 26);
    expect([unpacked.subarray(0, 25).toString(), unpacked.subarray(-3).toString()]).toEqual([
      '{"success":true,"data":[ ',
      ' ]}',
    ]);
  });

  test('wrong-encoding: plain JSON declared as gzip', async () => {
    const sandbox = await openFailing('wrong-encoding');
    const { encoding, bytes } = await receive(sandbox, CUSTOMERS);
    expect(encoding).toBe('gzip');
    expect(JSON.parse(bytes.toString()).data).toHaveLength(20);
  });
});

test('no fault is an error of the sandbox itself', async () => {
  const sandbox = await open();
  for (const fault of Object.keys(faultKinds) as Fault[]) {
    if (endlessFaults.some(endless => endless === fault)) continue;
    sandbox.failNext(fault);
    await receive(sandbox, CUSTOMERS, 2 ** 20);
  }
  expect((await request(sandbox, CUSTOMERS)).status).toBe(200);
  expect(sandbox.stats.failures).toEqual([]);
});
