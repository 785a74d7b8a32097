import { expect, test, vi } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { COOKBOOK } from '../../../src/service/query/cookbook.ts';
import { type Database, openDatabase } from '../../../src/warehouse/database/database.ts';
import { withDatabase } from '../../support/database.ts';
import { HOSTILE, TRAPS_CANCEL } from '../../support/hostile-queries.ts';
import { openEngine, serveOrders } from '../../support/source.ts';
import { withReader } from '../with-reader.ts';
import { ask, sendForm, silent, withService } from '../with-service.ts';

/** The page of the SQL box, and what sends it. */
async function withBox(
  fn: (box: { database: Database; send: (fields: Record<string, string>) => ReturnType<typeof ask> }) => Promise<void>,
  prepare: (database: Database) => Promise<void> = async () => undefined,
): Promise<void> {
  await withDatabase(async (database, given) => {
    await prepare(database);
    await withReader(database, given, async reader => {
      await withService(database, { openReader: async () => reader }, async ({ url }) => {
        await fn({ database, send: fields => sendForm(url, '/sql', fields) });
      });
    });
  });
}

test('the SQL box answers every question of the cookbook, with the rows that psql shows', async () => {
  const sandbox = await openSandbox({ rateLimit: 0 });
  await withBox(
    async ({ database, send }) => {
      for (const { question } of COOKBOOK) {
        const { status, text } = await send({ recipe: question, do: 'run' });
        expect([question, status, /rows? in \d+ ms/.test(text)]).toEqual([question, 200, true]);
      }
      const { rows } = await database.query<{ sum: string }>('select sum(amount)::text as sum from warehouse.invoices');
      const { text } = await send({ query: 'select sum(amount) from invoices', do: 'run' });
      expect(text).toContain(`<th scope="row">${rows[0]?.sum}</th>`);
      expect(text).toContain('<h2>1 row in ');
    },
    async database => {
      const engine = await openEngine(database, sandbox);
      await serveOrders(engine, 'sync');
      await engine.close();
    },
  );
  await sandbox.close();
});

test('the SQL box cannot write, nor read the secrets of the bookkeeping, nor run more than one statement', async () => {
  await withBox(async ({ database, send }) => {
    await database.query(
      `insert into sluice.receivers (source, secret, made_at) values ('main', 'the-secret-of-a-webhook', sluice.now())`,
    );
    const before = await database.query('select count(*)::int as n from pg_class');
    for (const query of [
      ...HOSTILE.flatMap(([, ...queries]) => queries),
      'select * from sluice.receivers',
      'delete from sluice.runs',
      'select 1; delete from sluice.runs',
      'set role postgres',
      "select set_config('role', 'pg_read_all_data', false)",
      'copy warehouse.customers to stdout',
    ]) {
      const { status, text } = await send({ query, do: 'run' });
      expect([query, status < 500, text.includes('the-secret-of-a-webhook')]).toEqual([query, true, false]);
    }
    expect((await send({ query: 'delete from sluice.runs', do: 'run' })).status).toBe(422);
    expect((await send({ query: 'select * from sluice.receivers', do: 'run' })).text).toContain('permission denied');
    expect((await database.query('select count(*)::int as n from pg_class')).rows).toEqual(before.rows);
  });
});

test('the SQL box cannot sleep or outlast its time-out, and a value of 100 MB is not read', async () => {
  await withBox(async ({ send }) => {
    const begun = performance.now();
    const answers = await Promise.all([
      send({ query: 'select pg_sleep(60)', do: 'run' }),
      send({
        query:
          "select set_config('statement_timeout', '0', false), pg_sleep(0.05 * (i % 500)) from generate_series(1, 100000) i",
        do: 'csv',
      }),
      send({ query: "select repeat('x', 100000000)", do: 'run' }),
      send({ query: TRAPS_CANCEL, do: 'run' }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([422, 422, 422, 422]);
    for (const place of [0, 1, 3]) expect(answers[place]?.text).toContain('stopped after 10 seconds');
    expect(answers[2]?.text).toContain('larger than 32 MB');
    // 10 seconds by the server, 11 by us, 12 for a query that resists; then the process is free again.
    expect(performance.now() - begun).toBeLessThan(50_000);
    expect((await send({ query: 'select 1', do: 'run' })).status).toBe(200);
  });
});

test('a query that traps its cancellation does not keep the service from stopping', async () => {
  await withDatabase(async (database, given) => {
    await withReader(database, given, async (_, address) => {
      const reader = await openDatabase({ url: address, applicationName: 'test reader', log: silent });
      let answer: Promise<unknown> = Promise.resolve();
      let begun = 0;
      await withService(database, { openReader: async () => reader }, async ({ url }) => {
        answer = sendForm(url, '/sql', { query: TRAPS_CANCEL, do: 'run' }).catch(() => null);
        const sleeping = `select from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`;
        await vi.waitUntil(async () => (await reader.query(sleeping)).rowCount === 1, { timeout: 5000 });
        begun = performance.now();
      });
      await reader.close();
      expect(performance.now() - begun).toBeLessThan(8000);
      expect(await answer).toBeNull();
    });
  });
});

test('a result is cut at 1,000 rows, downloaded as CSV without formulas, and drawn where it can be', async () => {
  await withBox(async ({ send }) => {
    const many = await send({ query: 'select generate_series(1, 1001)', do: 'run' });
    expect(many.text).toContain('<h2>The first 1,000 rows in ');
    expect((await send({ query: 'select generate_series(1, 1000)', do: 'run' })).text).toContain('<h2>1,000 rows in ');
    const csv = await send({ query: `select '=1+1' as a, null as b, '' as c, 'x"y' as d`, do: 'csv' });
    expect([csv.status, csv.headers['content-type'], csv.text]).toEqual([
      200,
      'text/csv; charset=utf-8',
      `a,b,c,d\r\n'=1+1,,"","x""y"\r\n`,
    ]);
    const query = `select to_char(d, 'YYYY-MM') as month, n, -n as owed from (values (date '2025-01-01', 3), ('2025-02-01', 5)) v(d, n)`;
    const drawn = await send({ query, do: 'run' });
    expect(drawn.text).toContain('aria-label="n by month');
    expect(drawn.text).not.toContain('<option value="owed"');
    expect((await send({ query, do: 'run', chart: 'none' })).text).not.toContain('class="bars"');
    const hostile = await send({ query: `select '<script>alert(1)</script>' as "<b>x</b>"`, do: 'run' });
    expect(hostile.text).not.toMatch(/<script>alert|<b>x/);
  });
});

test('without a login that may only read, no query is run', async () => {
  await withDatabase(async database => {
    await withService(database, {}, async ({ url }) => {
      const page = await ask(`${url}/sql?query=select+1`);
      expect(page.text).toContain('data-submit>select 1</textarea>');
      const { status, text } = await sendForm(url, '/sql', { query: 'select 1', do: 'run' });
      expect([status, text]).toEqual([422, expect.stringContaining('sluice grant')]);
    });
  });
});

test('the data page shows the address of the login that may only read, without its password', async () => {
  await withDatabase(async (database, given) => {
    await withReader(database, given, async (reader, address) => {
      const { username, password, host, pathname } = new URL(address);
      await withService(database, { openReader: async () => reader }, async ({ url }) => {
        const { text } = await ask(`${url}/data`);
        expect(text).toContain(`psql &quot;postgres://${username}@${host}${pathname}&quot;`);
        expect(text).not.toContain(password);
      });
    });
    await withService(database, {}, async ({ url }) => {
      expect((await ask(`${url}/data`)).text).toContain('No read-only login is set');
    });
  });
});
