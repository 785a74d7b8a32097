import { get, type IncomingMessage } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { SECOND } from '../../../src/clock.ts';
import type { SluiceError } from '../../../src/errors.ts';
import { endlessFaults, type Fault, faultKinds, listFaults } from '../../../src/sandbox/faults/fault-kinds.ts';
import { parseFaultPlan, parseFaultRates } from '../../../src/sandbox/parse/parse-faults.ts';
import type { Sandbox, SandboxOptions } from '../../../src/sandbox/sandbox.ts';
import { ask, type Body, createManualClock, idsOf, openForTest, TODAY } from '../test-client.ts';

const CUSTOMERS = '/api/v2/customers';
const NOON = Date.parse(`${TODAY}T12:00:00Z`);

const open = (options: SandboxOptions = {}) => openForTest({ rateLimit: 0, ...options });

/** A sandbox whose next request goes wrong. */
async function openFailing(fault: Fault, options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await open(options);
  sandbox.failNext(fault);
  return sandbox;
}

/** What comes over the wire, unpacked by nobody, until it ends, breaks, or as many bytes are there as are wanted. */
function listen(sandbox: Sandbox, path: string, wanted = Number.POSITIVE_INFINITY) {
  return new Promise<{ status: number; encoding: string | undefined; bytes: Buffer; end: string }>(resolve => {
    const chunks: Buffer[] = [];
    let came: IncomingMessage | undefined;
    let length = 0;
    const finish = (end: string) => {
      const { statusCode: status = 0, headers } = came ?? {};
      resolve({ status, encoding: headers?.['content-encoding'], bytes: Buffer.concat(chunks), end });
    };
    const breakOff = (error: NodeJS.ErrnoException) => finish(error.code ?? error.message);
    const headers = { authorization: `Bearer ${sandbox.apiKey}` };
    const request = get(sandbox.url + path, { headers, agent: false }, response => {
      came = response;
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        length += chunk.length;
        if (length < wanted) return;
        finish('enough');
        request.destroy();
      });
      response.on('end', () => finish('whole'));
      response.on('error', breakOff);
    });
    request.on('error', breakOff);
  });
}

describe('which requests go wrong', () => {
  const statusesOf = async (sandbox: Sandbox, count: number, path = CUSTOMERS) => {
    const statuses: number[] = [];
    for (let index = 0; index < count; index += 1) statuses.push((await ask(sandbox, path)).status);
    return statuses;
  };
  const failed = (statuses: number[]) => statuses.flatMap((status, index) => (status === 200 ? [] : [index + 1]));

  test('by the variant: every tenth', async () => {
    const sandbox = await open({ variants: { fault: 'json-500' } });
    expect(failed(await statusesOf(sandbox, 20))).toEqual([10, 20]);
  });

  test('by chance: about as many as the rate says, the same ones for the same seed', async () => {
    const runs: number[][] = [];
    for (const seed of [1, 1, 2]) {
      const sandbox = await open({ seed, faults: { 'json-500': 0.2, 'html-502': 0.1 } });
      const statuses = await statusesOf(sandbox, 200);
      expect(failed(statuses).length).toBeGreaterThan(30);
      expect(failed(statuses).length).toBeLessThan(90);
      expect(new Set(statuses)).toEqual(new Set([200, 500, 502]));
      runs.push(statuses);
    }
    expect(runs[0]).toEqual(runs[1]);
    expect(runs[0]).not.toEqual(runs[2]);
  });

  test('by a plan: from a number on, so many of a path', async () => {
    const faultPlan = parseFaultPlan(`2 json-500\n4 html-503 2 ${CUSTOMERS}\n9 hang 999999999 /never`);
    const sandbox = await open({ faultPlan });
    expect(await statusesOf(sandbox, 3)).toEqual([200, 500, 200]);
    expect(await statusesOf(sandbox, 2, '/api/v2/users')).toEqual([200, 200]);
    expect(await statusesOf(sandbox, 3)).toEqual([503, 503, 200]);
  });

  test('a fault of lists waits for a list', async () => {
    const sandbox = await openFailing('empty-list');
    expect((await ask(sandbox, `${CUSTOMERS}/1`)).body.data.id).toBe(1);
    expect((await ask(sandbox, CUSTOMERS)).body.data).toEqual([]);
    expect((await ask(sandbox, CUSTOMERS)).body.data).toHaveLength(20);
  });

  test('none of those without the key, nor those beyond the limit', async () => {
    const sandbox = await open({ rateLimit: 2, faults: { 'html-502': 1 } });
    expect((await ask(sandbox, CUSTOMERS, { key: 'other' })).status).toBe(401);
    expect(await statusesOf(sandbox, 3)).toEqual([502, 502, 429]);
  });

  const refusal = (parse: (text: string) => unknown, text: string) => {
    try {
      parse(text);
    } catch (error) {
      const { kind, message, next } = error as SluiceError;
      expect(kind).toBe('usage');
      return [message, next];
    }
    throw new Error('accepted');
  };
  const ALL = `Faults: ${Object.keys(faultKinds).join(', ')}.`;

  test('rates are read, and what is wrong with them is named', () => {
    expect(parseFaultRates('json-500=0.05, hang=.5,,drop=0')).toEqual({ 'json-500': 0.05, hang: 0.5, drop: 0 });
    expect(parseFaultRates('')).toEqual({});
    expect(refusal(parseFaultRates, 'toString=1')).toEqual(['There is no fault "toString".', ALL]);
    for (const rate of ['', '2', '-1', 'often', '0.1=9'])
      expect(refusal(parseFaultRates, `hang=${rate}`)).toEqual([
        `The fault "hang" has no probability "${rate}".`,
        'Expected: a number from 0 to 1, e.g. hang=0.05.',
      ]);
    expect(refusal(parseFaultRates, 'hang=0.6,drop=0.5')[0]).toBe('The probabilities of all faults come to 1.10.');
    expect(parseFaultRates('hang=0.1,drop=0.2,reset=0.7')).toHaveProperty('reset', 0.7);
  });

  test('a script is read, and what is wrong with it is named by its line', () => {
    expect(
      parseFaultPlan('# note\r\n\r\n10 json-500\n  25  reset-body 3  /api/v2/invoices \n30 hang /customers'),
    ).toEqual([
      { at: 10, fault: 'json-500', count: 1, path: '' },
      { at: 25, fault: 'reset-body', count: 3, path: '/api/v2/invoices' },
      { at: 30, fault: 'hang', count: 1, path: '/customers' },
    ]);
    const form = 'Expected: at-request fault [count] [path], e.g. 25 json-500 2 /api/v2/invoices';
    expect(refusal(parseFaultPlan, '1 hang\n10 hung')).toEqual(['Line 2: there is no fault "hung".', ALL]);
    expect(refusal(parseFaultPlan, 'hang')).toEqual(['Line 1: "hang" is no fault at a request.', form]);
    expect(refusal(parseFaultPlan, '5 hang twice')[0]).toBe('Line 1: "5 hang twice" is no fault at a request.');
    expect(refusal(parseFaultPlan, '0 hang')[0]).toBe('Line 1: "0" is no whole number from 1.');
    expect(refusal(parseFaultPlan, '5 hang 2x')[0]).toBe('Line 1: "2x" is no whole number from 1.');
  });
});

describe('answers that fail', () => {
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
    ['html-200', 200, '<!DOCTYPE html>', null],
    ['empty-200', 200, '', null],
    ['cut-json', 200, '{"success":true,"data":[', null],
  ] as const)('%s', async ([fault, status, start, retryAfter]) => {
    const sandbox = await open();
    sandbox.failNext(fault, 1, 'customers');
    expect((await ask(sandbox, '/api/v2/users')).body.success).toBe(true);
    const answer = await ask(sandbox, CUSTOMERS);
    expect(answer.status).toBe(status);
    expect(answer.text.startsWith(start)).toBe(true);
    expect(answer.body?.success).not.toBe(true);
    expect(answer.headers.get('content-type')).toContain(start.startsWith('<') ? 'text/html' : 'application/json');
    expect(answer.headers.get('retry-after')).toBe(retryAfter);
    expect((await ask(sandbox, CUSTOMERS)).body.success).toBe(true);
  });

  test('a 429 that is a fault tells of a limit that is not used up, and is not counted as a rejection', async () => {
    const sandbox = await openFailing('json-429', { rateLimit: 10, variants: { 'rate-headers': 'only-429' } });
    const { status, headers } = await ask(sandbox, CUSTOMERS);
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

describe('connections that fail', () => {
  test('drop and reset: nothing comes', async () => {
    const sandbox = await openFailing('drop');
    expect(await listen(sandbox, CUSTOMERS)).toMatchObject({ status: 0, end: 'ECONNRESET' });
    sandbox.failNext('reset');
    expect(await listen(sandbox, CUSTOMERS)).toMatchObject({ status: 0, end: 'ECONNRESET' });
    expect((await ask(sandbox, CUSTOMERS)).status).toBe(200);
  });

  test('reset-body: the first half, then a reset', async () => {
    const sandbox = await open();
    const whole = await listen(sandbox, CUSTOMERS);
    expect(whole.end).toBe('whole');
    sandbox.failNext('reset-body');
    const { status, bytes, end } = await listen(sandbox, CUSTOMERS);
    expect([status, end]).toEqual([200, 'ECONNRESET']);
    expect(bytes.length).toBeGreaterThan(0);
    expect(bytes.length).toBeLessThan(whole.bytes.length);
    expect(bytes.equals(whole.bytes.subarray(0, bytes.length))).toBe(true);
  });

  test('hang: neither headers nor an end, until the sandbox closes', async () => {
    const sandbox = await openFailing('hang');
    const hanging = listen(sandbox, CUSTOMERS);
    while (sandbox.stats.total === 0) await new Promise(resolve => setImmediate(resolve));
    expect((await ask(sandbox, CUSTOMERS)).status).toBe(200);
    await sandbox.close();
    expect(await hanging).toMatchObject({ status: 0, end: 'ECONNRESET' });
    expect(sandbox.stats.requests[0]?.status).toBe(0);
  });

  test('hang-body: the first half and no end, until the sandbox closes', async () => {
    const sandbox = await open();
    const { bytes: whole } = await listen(sandbox, CUSTOMERS);
    sandbox.failNext('hang-body', 2);
    const part = Math.floor(whole.length / 2) - 10;
    const { status, bytes, end } = await listen(sandbox, CUSTOMERS, part);
    expect([status, end]).toEqual([200, 'enough']);
    expect(bytes.equals(whole.subarray(0, bytes.length))).toBe(true);
    const hanging = listen(sandbox, CUSTOMERS);
    await listen(sandbox, CUSTOMERS);
    await sandbox.close();
    expect((await hanging).end).toBe('ECONNRESET');
  });

  test('drip: byte by byte, and past a short body, spaces', async () => {
    const sandbox = await openFailing('drip');
    expect(await listen(sandbox, CUSTOMERS, 3)).toMatchObject({
      status: 200,
      bytes: Buffer.from('{"s'),
      end: 'enough',
    });
    sandbox.setVariants({ 'other-lists': '404' });
    sandbox.failNext('drip');
    const short = '{"success":false,"message":"Not found"}';
    const { bytes } = await listen(sandbox, '/api/v2/orders', 4);
    expect(short.startsWith(bytes.toString())).toBe(true);
  });
});

describe('bodies that fail', () => {
  test('huge: hundreds of megabytes that go on as long as they are taken', async () => {
    const sandbox = await openFailing('huge');
    const { status, encoding, bytes, end } = await listen(sandbox, CUSTOMERS, 20 * 2 ** 20);
    expect([status, encoding, end]).toEqual([200, undefined, 'enough']);
    expect(bytes.subarray(0, 24).toString()).toBe('{"success":true,"data":[');
  });

  test('huge-gzip: less than one megabyte that unpacks to valid JSON of hundreds', async () => {
    const sandbox = await openFailing('huge-gzip');
    const { encoding, bytes, end } = await listen(sandbox, CUSTOMERS);
    expect([encoding, end]).toEqual(['gzip', 'whole']);
    expect(bytes.length).toBeLessThan(2 ** 20);
    const unpacked = gunzipSync(bytes);
    expect(unpacked.length).toBe(256 * 2 ** 20 + 26);
    expect([unpacked.subarray(0, 25).toString(), unpacked.subarray(-3).toString()]).toEqual([
      '{"success":true,"data":[ ',
      ' ]}',
    ]);
  });

  test('wrong-encoding: plain JSON that is said to be gzip', async () => {
    const sandbox = await openFailing('wrong-encoding');
    const { encoding, bytes } = await listen(sandbox, CUSTOMERS);
    expect(encoding).toBe('gzip');
    expect(JSON.parse(bytes.toString()).data).toHaveLength(20);
  });
});

describe('lists that look healthy and are not true', () => {
  const META = { current_page: 1, total_pages: 8, total_records: 150 };
  const spoilt = async (fault: Fault): Promise<[Body, Body, Body]> => {
    const sandbox = await open({ clock: createManualClock() });
    const sound = (await ask(sandbox, CUSTOMERS)).body;
    expect(sound.meta).toEqual(META);
    sandbox.failNext(fault, 2);
    return [sound, (await ask(sandbox, CUSTOMERS)).body, (await ask(sandbox, CUSTOMERS)).body];
  };

  test('row-twice', async () => {
    const [sound, body] = await spoilt('row-twice');
    const ids = idsOf(sound.data);
    expect(idsOf(body.data)).toEqual([...ids.slice(0, 11), ids[10], ...ids.slice(11)]);
    expect(body.meta).toEqual(META);
  });

  test('rows-missing', async () => {
    const [sound, body] = await spoilt('rows-missing');
    expect(body).toEqual({ ...sound, data: sound.data.filter((_row: Body, index: number) => index % 2 === 1) });
  });

  test('one for some paths waits for one of them', async () => {
    const sandbox = await open();
    sandbox.failNext('empty-list', 1, /\/(users|products)\b/);
    const counts: number[] = [];
    for (const list of ['customers', 'products', 'users'])
      counts.push((await ask(sandbox, `/api/v2/${list}?limit=5`)).body.data.length);
    expect(counts).toEqual([5, 0, 5]);
  });

  test('missing-meta', async () => {
    const [sound, body] = await spoilt('missing-meta');
    expect(body).toEqual({ success: true, data: sound.data });
  });

  test('moved-total, up and down', async () => {
    const [sound, one, other] = await spoilt('moved-total');
    expect([one.data, other.data]).toEqual([sound.data, sound.data]);
    expect([one.meta.total_records, other.meta.total_records].sort((a, b) => a - b)).toEqual([147, 153]);
  });

  test('empty-list and empty-list-zero', async () => {
    expect((await spoilt('empty-list'))[1]).toEqual({ success: true, data: [], meta: META });
    const none = { current_page: 1, total_pages: 1, total_records: 0 };
    expect((await spoilt('empty-list-zero'))[1]).toEqual({ success: true, data: [], meta: none });
  });

  test('list-changes: rows come, go and change before a page is shown, and the page is a true one', async () => {
    const sandbox = await open();
    sandbox.failNext('list-changes', 20);
    for (let page = 1; page <= 20; page++) expect((await ask(sandbox, `${CUSTOMERS}?page=${page}`)).status).toBe(200);
    expect(sandbox.changes).toHaveLength(60);
    const kinds = new Set(sandbox.changes.map(({ kind }) => kind.replace(/^.*-/, '')));
    expect([...kinds]).toEqual(expect.arrayContaining(['new', 'deleted']));
    const { body } = await ask(sandbox, `${CUSTOMERS}?page=1`);
    expect(body).toMatchObject({ meta: { total_records: [...sandbox.rows('customers')].length } });
  });

  test('a list that is empty or has no meta anyway stays as it is', async () => {
    const sandbox = await open({ variants: { paging: 'no-meta', visible: 'none' } });
    for (const fault of listFaults) {
      sandbox.failNext(fault);
      expect((await ask(sandbox, '/api/v2/invoices')).body).toEqual({ success: true, data: [] });
    }
  });
});

test('the sandbox itself fails at none of them', async () => {
  const sandbox = await open();
  for (const fault of Object.keys(faultKinds) as Fault[]) {
    if (endlessFaults.some(endless => endless === fault)) continue;
    sandbox.failNext(fault);
    await listen(sandbox, CUSTOMERS, 2 ** 20);
  }
  expect((await ask(sandbox, CUSTOMERS)).status).toBe(200);
  expect(sandbox.stats.failures).toEqual([]);
});
