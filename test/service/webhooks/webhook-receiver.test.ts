import { Agent } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts';
import { runLoop } from '../../../src/engine/run/loop.ts';
import { createLog } from '../../../src/log.ts';
import type { Service } from '../../../src/service/service.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { dueHints } from '../../../src/warehouse/ledgers/hints.ts';
import { noteWebhook, receiverSecret, renewSecret } from '../../../src/warehouse/ledgers/webhook-addresses.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { long } from '../../support/long.ts';
import { openEngine, serveOrders } from '../../support/source.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';
import { ask, hearWakeUps, servedSource, withService } from '../with-service.ts';

const EVENTS = ['invoice.created', 'payment.received'];

const hintsOf = async (database: Database) =>
  (
    await database.query<{ hint: string }>(`select resource || ' ' || slice as hint from sluice.hints order by 1`)
  ).rows.map(row => row.hint);

async function withReceiver(fn: (given: { database: Database; service: Service; url: string }) => Promise<void>) {
  await withDatabase(async database => {
    await withService(database, {}, async service => {
      // Made after the start, as `sluice webhooks register` does from another process.
      const secret = await receiverSecret(database.kysely, 'main');
      await fn({ database, service, url: `${service.url}/webhooks/${secret}` });
    });
  });
}

test('a secret is created once, and a wrong one is answered 404', async () => {
  await withReceiver(async ({ database, service, url }) => {
    const [one, two] = await Promise.all([1, 2].map(() => receiverSecret(database.kysely, 'main')));
    expect([one, two]).toEqual([one, url.split('/').at(-1)]);
    expect(one).toMatch(/^[\w-]{43}$/);
    for (const wrong of ['', 'x', `${one}x`, one?.slice(0, -1), one?.toUpperCase(), `${one}/x`]) {
      const { status } = await ask(`${service.url}/webhooks/${wrong}`, { method: 'POST', body: '{}' });
      expect(status).toBe(404);
    }
    expect((await ask(url)).status).toBe(404);
    expect(await hintsOf(database)).toEqual([]);
  });
});

test('a message about a resource whose schedule is off leaves no hint', async () => {
  await withDatabase(async database => {
    const source = { ...servedSource(database), scheduled: ['customers', 'transactions'] };
    await withService(database, { sources: [source] }, async service => {
      const url = `${service.url}/webhooks/${await receiverSecret(database.kysely, 'main')}`;
      for (const event of EVENTS) await ask(url, { method: 'POST', body: JSON.stringify({ event, data: { id: 17 } }) });
      const { text } = await ask(`${service.url}/metrics`);
      expect(text).toContain('sluice_webhooks_received_total{result="nothing"} 1');
    });
    expect(await hintsOf(database)).toEqual(['transactions newest']);
  });
});

test('a message leaves only a change hint, repeated messages leave one, and a message that is too large is refused', async () => {
  await withDatabase(async database => {
    const { woken, end } = await hearWakeUps(database);
    let service: Service | undefined;
    await withService(database, {}, async opened => {
      service = opened;
      const url = `${opened.url}/webhooks/${await receiverSecret(database.kysely, 'main')}`;
      const body = JSON.stringify({ event: 'payment.received', data: { id: 17, notes: 'private' } });
      for (let time = 0; time < 3; time++)
        expect(await ask(url, { method: 'POST', body })).toMatchObject({ status: 200 });
      for (const size of [64 * 1024 + 1, 1024 * 1024])
        expect((await ask(url, { method: 'POST', body: ' '.repeat(size) })).status).toBe(413);
      const chunked = await ask(url, {
        method: 'POST',
        body: ' '.repeat(64 * 1024 + 1),
        headers: { 'transfer-encoding': 'chunked' },
      });
      expect(chunked.status).toBe(413);
      const { text } = await ask(`${opened.url}/metrics`);
      expect(text).toContain('sluice_webhooks_received_total{result="hint"} 3');
      expect(text).toContain('sluice_webhooks_received_total{result="refused"} 3');
    });
    expect(service).toBeDefined();
    // What had not been written was written when it closed.
    expect(await hintsOf(database)).toEqual(['invoices one 17', 'transactions newest']);
    await expect.poll(() => new Set(woken)).toEqual(new Set(['main']));
    await end();
    const { rows } = await database.query(
      `select count(*)::int as rows from sluice.hints where hints::text like '%private%'`,
    );
    expect(rows).toEqual([{ rows: 0 }]);
  });
});

test('a chunked message without a length is accepted', async () => {
  await withReceiver(async ({ database, url }) => {
    const body = JSON.stringify({ event: 'invoice.created', data: { id: 18, notes: 'Gr\u00fc\u00dfe' } });
    const headers = { 'transfer-encoding': 'chunked' };
    expect(await ask(url, { method: 'POST', body, headers })).toMatchObject({ status: 200, text: 'ok\n' });
    await arrived(database, 'invoices one 18');
  });
});

test('while the database fails, wrong secrets query it at most once a second, are answered 503 and logged once', async () => {
  await withDatabase(async database => {
    const lines: string[] = [];
    const destination = new PassThrough().on('data', chunk => lines.push(String(chunk)));
    const log = createLog({ level: 'info', destination });
    await withService(database, { log }, async service => {
      const secret = await receiverSecret(database.kysely, 'main');
      await database.query('alter table sluice.receivers rename to out_of_reach');
      let lookUps = 0;
      database.pool.on('acquire', () => lookUps++);
      const began = performance.now();
      const post = (guess: string) => ask(`${service.url}/webhooks/${guess}`, { method: 'POST', body: '{}' });
      for (let guess = 0; guess < 100; guess++) {
        const { status, text } = await post(`guess-${guess}`);
        expect([status, text]).toEqual([503, expect.stringContaining('again')]);
      }
      expect((await post(secret)).status).toBe(503);
      expect(lookUps).toBeLessThanOrEqual(1 + (performance.now() - began) / 1000);
      expect(lines).toEqual([expect.stringContaining('receivers') as string]);
      expect(lines[0]).not.toMatch(/stack|guess-/);

      await database.query('alter table sluice.out_of_reach rename to receivers');
      while ((await post(secret)).status !== 200) await new Promise(resolve => setTimeout(resolve, 20));
      expect((await post('guess')).status).toBe(404);
    });
  });
});

test('each source has its own secret, whose webhooks leave hints for that source only', async () => {
  await withDatabase(async database => {
    const sources = ['vienna', 'graz'].map(name => ({ ...servedSource(database), name }));
    await withService(database, { sources }, async ({ url }) => {
      const [vienna, , linz] = await Promise.all(
        ['vienna', 'graz', 'linz'].map(name => receiverSecret(database.kysely, name)),
      );
      const post = (secret: string | undefined) => ask(`${url}/webhooks/${secret}`, { method: 'POST', body: '{}' });
      expect((await post(vienna)).status).toBe(200);
      // Of a source that this process does not serve.
      expect((await post(linz)).status).toBe(404);
    });
    const { rows } = await database.query('select distinct source from sluice.hints');
    expect(rows).toEqual([{ source: 'vienna' }]);
  });
});

test('a secret that was replaced is accepted for seven days beside the new one, and refused after that', async () => {
  await withReceiver(async ({ database, service, url }) => {
    const { kysely } = database;
    const post = async (address: string) => (await ask(address, { method: 'POST', body: '{}' })).status;
    await renewSecret(kysely, 'main');
    // No address was registered with it yet.
    expect(url).toContain(await receiverSecret(kysely, 'main'));
    await noteWebhook(kysely, 'main', service.url, EVENTS);
    await renewSecret(kysely, 'main');
    const renewed = `${service.url}/webhooks/${await receiverSecret(kysely, 'main')}`;
    // A registration that failed may be repeated: the secret before stays the one that the source knows.
    await renewSecret(kysely, 'main');
    expect(renewed).toContain(await receiverSecret(kysely, 'main'));
    expect(renewed).not.toBe(url);
    expect([await post(renewed), await post(url)]).toEqual([200, 200]);
    await database.query("update sluice.receivers set made_at = made_at - interval '7 days'");
    await withService(database, {}, async later => {
      const there = (address: string) => post(address.replace(service.url, later.url));
      expect([await there(url), await there(renewed)]).toEqual([404, 200]);
    });
  });
});

/** Reads what is due as the service does, until nothing is. */
async function serve(engine: Parameters<typeof runLoop>[0]): Promise<void> {
  while ((await dueHints(engine.database.kysely, 'main', engine)).length > 0)
    await runLoop(engine, { orders: () => true, slots: true }, new AbortController().signal);
}

async function arrived(database: Database, hint: string): Promise<void> {
  while (!(await hintsOf(database)).includes(hint)) await new Promise(resolve => setTimeout(resolve, 5));
}

async function register(sandbox: Sandbox, url: string): Promise<void> {
  const { status } = await ask(`${sandbox.url}/api/v2/webhooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${sandbox.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url, events: EVENTS }),
  });
  expect(status).toBe(201);
}

for (const times of ['once', 'twice'] as const) {
  test(`an invoice or payment that the source announces ${times} is in the warehouse after a few requests`, async () => {
    const sandbox = await openSandbox({ rateLimit: 0, variants: { webhooks: times } });
    await withReceiver(async ({ database, url }) => {
      await register(sandbox, url);
      const engine = await openEngine(database, sandbox);
      await serveOrders(engine, 'sync');
      const asked = sandbox.stats.total;
      const { id } = sandbox.change('invoice-new');
      await sandbox.webhooksSent();
      await arrived(database, `invoices one ${id}`);
      await serve(engine);
      expect(sandbox.stats.total - asked).toBeLessThanOrEqual(2);
      expect(await differences(database, sandbox)).toEqual([]);

      await database.query(`update sluice.runs set started_at = started_at - interval '1 minute' where kind = 'hint'`);
      const before = sandbox.stats.total;
      const [oldest] = sandbox.rows('invoices');
      sandbox.update('invoices', oldest?.id as number, {
        status: oldest?.status === 'Paid' ? 'Partially Paid' : 'Paid',
      });
      await sandbox.webhooksSent();
      await arrived(database, `invoices one ${oldest?.id}`);
      await serve(engine);
      // The second word of the invoice before may have come after it was read.
      expect(sandbox.stats.total - before).toBeLessThanOrEqual(4);
      expect(await differences(database, sandbox)).toEqual([]);
      await engine.close();
    });
    await sandbox.close();
  });
}

long(
  '10,000 messages about 600 invoices are all answered, and cost no more requests than one hint task',
  async () => {
    const sandbox = await openSandbox({ rateLimit: 0 });
    await withReceiver(async ({ database, url }) => {
      // However long the flood takes here, no time passes in the database: nothing has rested enough to be read twice.
      const clock = await createVirtualClock(database);
      const engine = await openEngine(database, sandbox, { clock });
      await serveOrders(engine, 'sync');
      const asked = sandbox.stats.total;
      const ids = [...sandbox.rows('invoices')].map(row => row.id);
      const agent = new Agent({ keepAlive: true });
      const times: number[] = [];
      let sent = 0;
      const sender = async () => {
        for (let number = sent++; number < 10_000; number = sent++) {
          const body = JSON.stringify({ event: EVENTS[number % 2], data: { id: ids[number % ids.length] } });
          const began = performance.now();
          const { status } = await ask(url, { method: 'POST', body, agent });
          times.push(performance.now() - began);
          if (status !== 200) throw new Error(`HTTP ${status}`);
        }
      };
      let over = false;
      const reading = (async () => {
        while (!over) {
          await serve(engine);
          await new Promise(resolve => setTimeout(resolve, 20));
        }
      })();
      const began = performance.now();
      await Promise.all(Array.from({ length: 4 }, sender));
      const seconds = (performance.now() - began) / 1000;
      over = true;
      await reading;
      agent.destroy();
      await serve(engine);
      const requests = sandbox.stats.total - asked;
      times.sort((a, b) => a - b);
      if (process.env.LOG_LEVEL === 'info') console.log({ seconds, median: times[5000], p99: times[9900], requests });
      // Ten for the invoices; the newest transactions need one or two.
      expect(requests).toBeGreaterThan(0);
      expect(requests).toBeLessThanOrEqual(12);
      await engine.close();
    });
    await sandbox.close();
  },
  300_000,
);
