import { describe, expect, it } from 'vitest';
import { HOUR, MINUTE, SECOND } from '../../src/clock.ts';
import { classify } from '../../src/source/answers/classify.ts';
import type { Expected } from '../../src/source/answers/envelope.ts';

const time = { nowMs: Date.UTC(2026, 0, 15, 10), windowMs: HOUR, unused: 0 };
const page = '<!doctype html><h1>Oops</h1>';
const wrongKey = '{"success": false, "message": "Invalid API key"}';
const invalid = '{"success": false, "message": "Validation failed", "errors": {"email": "Invalid email format"}}';

function judge(status: number, text: string, expected: Expected = 'list', headers: Record<string, string> = {}) {
  return classify({ status, headers, text }, expected, time);
}

it.each([
  '{"success": true, "data": null}',
  '{"success": true, "data": {}, "meta": {"total_records": 0}}',
  '{"success": false, "message": "No records found"}',
  '{"success": false, "data": [], "message": "There are no results for this period."}',
  '{"status": "success", "code": 200, "message": "Data retrieved successfully", "data": null}',
  '{"success": false, "message": "Sorry, no matching items available in the selected date range"}',
])('%s is a list without rows', text => {
  expect(judge(200, text)).toMatchObject({ kind: 'success', body: { data: [] } });
  expect(judge(200, text, 'any')).not.toMatchObject({ body: { data: [] } });
});

it.each([
  '{"success": false, "message": "No connection to the database"}',
  '{"success": false, "data": null, "message": "Maintenance"}',
  '{"success": true}',
  '{"success": true, "data": false}',
  '{"success": false, "message": "Invalid API key: no records"}',
  '{"success": false, "message": "You have no data permission"}',
  '{"success": false, "message": "No data source available"}',
  '{"data": null, "message": "System is under maintenance"}',
  '{"code": 403, "message": "You do not have permission", "data": null}',
  '{"code": 500, "data": {}}',
  '{"status": "fail", "data": {}}',
  '{"success": true, "data": null, "message": "Subscription expired"}',
  '{"success": true, "data": null, "message": "Keine Berechtigung"}',
  '{"success": false, "message": "Your plan does not include this module. No data found."}',
  '{"success": false, "message": "No data for your plan"}',
  '{"success": false, "message": "Database error: sql: no rows in result set"}',
  '{"success": false, "message": "Read replica unavailable, no results for now, try again later"}',
  '{"success": false, "message": "You are not allowed to view invoices: no records found for user"}',
])('%s is none', text => {
  expect(['gone', 'success']).not.toContain(judge(200, text).kind);
});

describe('success is 2xx with JSON, `success` true or absent, no error and `data` of the expected type', () => {
  it.each([
    [200, '{"success": true, "data": []}', 'list'],
    [201, '{"success": true, "data": {"id": 1}}', 'one'],
    [200, '{"data": [{"id": 1}]}', 'list'],
    [200, '{"success": true}', 'any'],
  ] as const)('%i %s as %s', (status, text, expected) => {
    expect(judge(status, text, expected)).toEqual({ kind: 'success', body: JSON.parse(text) });
  });

  it('a list named by the ids of its rows is not in the order of the answer', () => {
    const named = '{"success": true, "data": {"12": {"id": 12}, "11": {"id": 11}}}';
    expect(judge(200, named)).toEqual({
      kind: 'success',
      body: { success: true, data: [{ id: 11 }, { id: 12 }] },
      unordered: true,
    });
    expect(judge(200, '{"data": {"0": {"id": 12}, "2": {"id": 11}}}')).toEqual({
      kind: 'success',
      body: { data: [{ id: 12 }, { id: 11 }] },
    });
  });

  it.each(['true', '1', '"1"', '"true"', '"TRUE"', '"ok"', '"success"'])('`success: %s` is a success', success => {
    expect(judge(200, `{"success": ${success}, "data": []}`)).toMatchObject({ kind: 'success' });
  });

  it.each(['false', '0', '"0"', '"false"', '"False"', '"no"', '""', 'null', '"error"', '[]', '{}'])(
    '`success: %s` is a failure, never an empty list',
    success => {
      const said = `HTTP 200 with success: ${success} (Database busy)`;
      const text = `{"success": ${success}, "data": [], "message": "Database busy"}`;
      for (const expected of ['list', 'any'] as const)
        expect(judge(200, text, expected)).toEqual({ kind: 'retry', what: said });
    },
  );

  it.each(['null', 'false', '""', '0', '"0"', '[]', '{}', '{"code": 0, "message": ""}'])(
    '`error: %s` and `errors` likewise are none',
    empty => {
      const text = `{"success": true, "data": [], "error": ${empty}, "errors": ${empty}}`;
      expect(judge(200, text)).toMatchObject({ kind: 'success' });
    },
  );

  it.each([
    ['"error": "Database busy"', 'Database busy'],
    ['"error": {"code": 17, "message": "Database busy"}', 'Database busy'],
    ['"error": true', 'no message'],
    ['"error": 1', 'no message'],
    ['"errors": ["Database busy"]', 'no message'],
    ['"success": true, "error": "Database busy"', 'Database busy'],
  ])('an answer with %s is a failure, never an empty list', (error, said) => {
    expect(judge(200, `{${error}, "data": []}`)).toEqual({ kind: 'retry', what: `HTTP 200 with an error (${said})` });
  });

  it('an error about the key refuses the key, and one by field refuses the request', () => {
    expect(judge(200, '{"error": "Invalid API key", "data": []}').kind).toBe('unauthorized');
    expect(judge(200, '{"success": 0, "errors": {"limit": "too large"}}')).toMatchObject({ kind: 'refused' });
  });

  it('a change that succeeded may report errors of parts of it', () => {
    const text = '{"success": true, "data": [{"id": 1}], "errors": {"customers.1.email": "Invalid"}}';
    expect(judge(201, text, 'any')).toMatchObject({ kind: 'success' });
  });

  it.each(['{"0": {"id": 9}, "1": {"id": 7}}', '{"0": {"id": 9}, "2": {"id": 7}}'])(
    'a list may arrive as the object %s',
    data => {
      const body = { data: [{ id: 9 }, { id: 7 }], meta: { total_records: 2 } };
      const text = `{"data": ${data}, "meta": {"total_records": 2}}`;
      expect(judge(200, text)).toEqual({ kind: 'success', body });
      expect(judge(200, text, 'one')).toEqual({ kind: 'success', body: JSON.parse(text) });
    },
  );

  it.each(['{"id": 9}', '{"0": {"id": 9}, "next": 2}', '{"00": {"id": 9}}'])('but not as the object %s', data => {
    expect(judge(200, `{"data": ${data}}`)).toMatchObject({ kind: 'retry', what: 'HTTP 200 without a list in `data`' });
  });

  it.each([204, 205])('or %i for a change without a body', status => {
    expect(judge(status, '', 'any')).toEqual({ kind: 'success', body: {} });
  });

  it.each([
    [200, '', 'list', 'an empty body'],
    [200, '', 'any', 'an empty body'],
    [204, '', 'list', 'an empty body'],
    [204, '', 'one', 'an empty body'],
    [200, page, 'list', 'an HTML page'],
    [200, '{"success": true, "data": [{"id"', 'list', 'cut-off or invalid JSON'],
    [200, 'OK', 'list', 'not JSON'],
    [200, '[{"id": 1}]', 'list', 'without the documented envelope'],
    [200, '{"success": true, "data": []}', 'one', 'without an object'],
    [200, '{"success": true, "data": null}', 'one', 'without an object'],
    [200, '{"success": true}', 'list', 'without a list'],
    [200, '{"success": false, "message": "Database busy"}', 'list', 'Database busy'],
    [200, `{"data": ${'['.repeat(100_000)}`, 'list', 'cut-off'],
    [200, `{"data": [${'['.repeat(3000)}${']'.repeat(3000)}]}`, 'list', 'invalid JSON'],
    [408, page, 'list', 'HTTP 408'],
    [500, '{"success": false, "message": "x"}', 'list', 'HTTP 500'],
    [503, page, 'list', 'an HTML page'],
  ] as const)('%i %.50s, expected as %s, is retried', (status, text, expected, what) => {
    const verdict = judge(status, text, expected);
    expect(verdict).toMatchObject({ kind: 'retry', what: expect.stringContaining(what) });
    expect(verdict).not.toHaveProperty('refusal');
  });
});

describe('the address of a record', () => {
  it.each([
    [200, '{"success": true, "data": null}', 'HTTP 200 with data null'],
    [200, '{"success": true, "data": []}', 'HTTP 200 with data []'],
    [200, '{"success": false, "message": "Customer not found"}', 'HTTP 200: Customer not found'],
    [200, '{"success": 0, "message": "Customer not found"}', 'HTTP 200: Customer not found'],
    [400, '{"success": false, "message": "No such customer"}', 'HTTP 400: No such customer'],
  ])('%i %s says that there is none', (status, text, instead) => {
    expect(judge(status, text, 'record')).toEqual({ kind: 'gone', instead });
  });

  it.each([
    [200, '{"success": false, "message": "Database busy"}', 'retry'],
    [200, '{"success": true, "data": null, "error": "Database busy"}', 'retry'],
    [200, '{"success": false, "message": "API key not found"}', 'unauthorized'],
    [400, '{"success": false, "message": "Bad request"}', 'refused'],
  ])('%i %s says nothing of it', (status, text, kind) => {
    expect(judge(status, text, 'record').kind).toBe(kind);
  });
});

describe('refusals', () => {
  it.each([
    [401, page],
    [403, wrongKey],
    [401, invalid],
    [200, wrongKey],
    [400, wrongKey],
    [200, '{"success": false, "message": "Unauthorized access"}'],
    [200, '{"success": false, "message": "Your API key has been revoked"}'],
  ])('%i %s: the key', (status, text) => {
    expect(judge(status, text).kind).toBe('unauthorized');
  });

  it.each([
    [403, page],
    [403, '{"success": false, "message": "You do not have permission to view users"}'],
    [403, '{"success": false, "message": "Your API key does not have the required permission"}'],
    [403, '{"success": false, "message": "This API key is missing the permission users.read"}'],
    [403, '{"success": false, "message": "Token scope required: users.read"}'],
    [403, '{"success": false, "message": "Unauthorized to view users"}'],
    [200, '{"success": false, "message": "Access denied"}'],
    [400, '{"success": false, "message": "Forbidden"}'],
  ])('%i %s: the list, not the key', (status, text) => {
    expect(judge(status, text).kind).toBe('refused');
  });

  it.each([200, 400, 409, 422])('%i with field messages: the request', status => {
    expect(judge(status, invalid)).toEqual({
      kind: 'refused',
      message: 'Validation failed',
      fields: { email: 'Invalid email format' },
    });
  });

  it.each([
    [405, page],
    [400, ''],
  ])('%i without JSON: the request', (status, text) => {
    expect(judge(status, text)).toMatchObject({ kind: 'refused', message: expect.stringContaining(`HTTP ${status}`) });
  });

  it('a rate message that mentions the key does not refuse the key', () => {
    expect(
      judge(200, '{"success": false, "message": "Rate limit of this API key exceeded, invalid request"}').kind,
    ).toBe('retry');
  });

  it("control characters are removed from the source's message", () => {
    const verdict = judge(400, JSON.stringify({ success: false, message: '\u001b[2JNo\r\n  more' }));
    expect(verdict).toEqual({ kind: 'refused', message: '[2JNo more' });
  });

  it('at most twenty field messages are kept', () => {
    const errors = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`field_${index}`, 'wrong']));
    const { fields } = judge(400, JSON.stringify({ message: 'Validation failed', errors })) as { fields: object };
    expect(Object.keys(fields)).toHaveLength(20);
  });
});

describe('a redirect is retried, never followed, and shown without query and user name', () => {
  it.each([
    ['https://login.example.com/in?api_key=hidden#x', 'https://login.example.com/in'],
    ['https://hidden:hidden@example.com:8443', 'https://example.com:8443/'],
    ['//example.com/in?k=hidden', 'https://example.com/in'],
    ['/login?next=hidden', '/login on the same host'],
    ['?k=hidden', '/ on the same host'],
    ['https://', 'an invalid address'],
    ['', 'nowhere'],
  ])('%s', (location, shown) => {
    expect(judge(302, page, 'list', { location })).toEqual({
      kind: 'retry',
      what: `HTTP 302, a redirect to ${shown}, not followed because no other address may receive the key`,
      asks: 'another address',
    });
  });
});

it('404 is `gone`, with or without JSON', () => {
  expect([judge(404, page), judge(404, wrongKey)]).toEqual([{ kind: 'gone' }, { kind: 'gone' }]);
});

describe('the minimum wait', () => {
  const reset = { 'x-ratelimit-reset': '600' };
  it('after a 429 is Retry-After, or else the reset', () => {
    expect(judge(429, page, 'list', { ...reset, 'retry-after': '120' })).toMatchObject({
      refusal: 'quota',
      minimumMs: 2 * MINUTE,
    });
    expect(judge(429, '', 'list', reset)).toMatchObject({ refusal: 'quota', minimumMs: 10 * MINUTE });
    expect(judge(429, '')).not.toHaveProperty('minimumMs');
  });

  it('after a 429 with requests remaining is not the reset', () => {
    const left = { ...reset, 'x-ratelimit-remaining': '900' };
    expect(judge(429, '', 'list', left)).not.toHaveProperty('minimumMs');
    expect(judge(429, '', 'list', { ...left, 'x-ratelimit-remaining': '0' })).toHaveProperty('minimumMs', 10 * MINUTE);
    expect(judge(429, '', 'list', { ...left, 'retry-after': '120' })).toHaveProperty('minimumMs', 2 * MINUTE);
  });

  it('after a server error is Retry-After, never the reset of the rate window', () => {
    expect(judge(503, '', 'list', { ...reset, 'retry-after': '120' })).toMatchObject({ minimumMs: 2 * MINUTE });
    expect(judge(503, '', 'list', reset)).not.toHaveProperty('minimumMs');
  });
});

it('a refusal because of too many requests at once is 429 with requests left, or 503 with such a message', () => {
  expect(judge(429, '', 'list', { 'x-ratelimit-remaining': '900' })).toEqual({
    kind: 'retry',
    what: 'HTTP 429, too many requests at once',
    refusal: 'crowded',
  });
  expect(judge(503, '<h1>Too many connections</h1>', 'list', { 'retry-after': '1' })).toEqual({
    kind: 'retry',
    what: 'HTTP 503, too many requests at once',
    refusal: 'crowded',
    minimumMs: SECOND,
  });
});
