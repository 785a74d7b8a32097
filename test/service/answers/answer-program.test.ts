import { expect, test } from 'vitest';
import { runLoop } from '../../../src/engine/run/loop.ts';
import { until, withInstallation } from '../../cli/run-command.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine } from '../../support/source.ts';
import { withReader } from '../with-reader.ts';
import { ask, withService } from '../with-service.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

test('a program gets an answer as fresh as it asks for, and a refusal costs no request', async () => {
  await withInstallation({}, async ({ sandbox, database, test: testDatabase, sync }) => {
    await sync('invoices', 'customers');
    await withReader(database, testDatabase, async reader => {
      await withService(database, { openReader: async () => reader }, async ({ url }) => {
        const query = async (body: object, headers: Record<string, string> = JSON_TYPE) => {
          const { status, text } = await ask(`${url}/query`, { method: 'POST', headers, body: JSON.stringify(body) });
          return { status, body: text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : text };
        };
        const [invoice] = [...sandbox.rows('invoices')].slice(-80) as { id: number; customer_id: number }[];
        if (!invoice) throw new Error('too few invoices');
        const sql = `select notes from invoices where customer_id = ${invoice.customer_id} and id = ${invoice.id}`;
        sandbox.update('invoices', invoice.id, { notes: 'edited' });

        const stored = await query({ sql });
        expect([stored.status, stored.body]).toMatchObject([
          200,
          { columns: ['notes'], cut: false, requests: 0, unsettled: 0 },
        ]);
        expect(stored.body).not.toMatchObject({ rows: [['edited']] });
        const asked = query({ sql, maxAge: '0' });
        await until(
          async () => (await database.query('select from sluice.orders where kind = $1', ['refresh'])).rows.length > 0,
        );
        const engine = await openEngine(database, sandbox, { limit: 100_000, resources: ['invoices', 'customers'] });
        await runLoop(engine, { orders: () => true, slots: false }, new AbortController().signal);
        await engine.close();
        const fresh = await asked;
        expect(fresh).toMatchObject({ status: 200, body: { rows: [['edited']], unsettled: 0 } });
        expect((fresh.body as { requests: number }).requests).toBeLessThanOrEqual(3);
        expect(Date.parse((fresh.body as { asOf: string }).asOf)).toBeGreaterThan(
          Date.parse((stored.body as { asOf: string }).asOf),
        );

        const before = sandbox.stats.requests.length;
        for (const [body, status, error] of [
          [{ sql: 'select count(*) from invoices', maxAge: '0', maxRequests: 1 }, 422, 'None was sent.'],
          [{ sql: 'select * from transactions', maxAge: '0' }, 422, 'transactions was not read in full yet'],
          [{ sql: 'delete from invoices' }, 422, 'read-only; nothing was changed.'],
          [{ sql: 'select pg_sleep(1)', maxAge: '5 minutes' }, 400, '"maxAge" is "5 minutes".'],
          [{ sql: 'select 1', unknown: 1 }, 400, 'unknown'],
          [{ sql: 'select 1', source: 'other' }, 400, 'Which source?'],
          [{}, 400, 'sql'],
        ] as const) {
          const refused = await query(body);
          expect([body, refused.status, refused.body]).toEqual([
            body,
            status,
            expect.objectContaining({ error: expect.stringContaining(error) as string }),
          ]);
        }
        expect(sandbox.stats.requests.length).toBe(before);
      });
    });
  });
});

test('what is refused before the query is JSON, too, and says what to do; a page of another site gets nowhere', async () => {
  const token = 'token-of-programs';
  const bearer = { authorization: `Bearer ${token}` };
  const evil = { ...bearer, origin: 'http://evil.example' };
  const json = { ...bearer, ...JSON_TYPE };
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const notJson = { error: 'The request is not JSON.', next: 'Send Content-Type: application/json.' };
  const foreign = { error: 'Refused: this form was sent by a page of another site.' };
  await withDatabase(async database => {
    const openReader = () => Promise.reject(new Error('broken'));
    await withService(database, { token, openReader }, async ({ url }) => {
      for (const [headers, status, body] of [
        [{ ...bearer, ...form }, 415, notJson],
        [{ ...bearer, 'content-type': 'text/plain' }, 415, notJson],
        [bearer, 415, notJson],
        [{ ...evil, ...JSON_TYPE }, 403, foreign],
        [{ ...evil, ...form }, 403, foreign],
        [{ ...bearer, ...form, 'sec-fetch-site': 'cross-site' }, 403, foreign],
        [{ ...json, 'transfer-encoding': 'chunked' }, 411, { error: 'Send Content-Length.' }],
        [{ ...json, 'content-length': '1000000' }, 413, { error: 'The body is larger than 64 KB.' }],
        [JSON_TYPE, 401, { error: 'Token required.', next: expect.stringContaining('Bearer') as string }],
        [json, 500, { error: 'Internal error.', next: 'See the log.' }],
      ] as const) {
        const sent = 'content-length' in headers ? ' '.repeat(1_000_000) : JSON.stringify({ sql: 'select 1' });
        const answer = await ask(`${url}/query`, { method: 'POST', headers, body: sent });
        expect([headers, answer.status, JSON.parse(answer.text)]).toEqual([headers, status, body]);
        expect(answer.headers['content-type']).toBe('application/json');
        expect(answer.headers['www-authenticate']).toBe(status === 401 ? 'Bearer realm="sluice"' : undefined);
      }
      const { paths } = JSON.parse((await ask(`${url}/openapi.json`, { headers: bearer })).text) as {
        paths: { '/query': { post: { responses: object } } };
      };
      expect(Object.keys(paths['/query'].post.responses)).toEqual(
        [200, 400, 401, 403, 408, 411, 413, 415, 422, 429, 500, 503].map(String),
      );
    });
  });
});
