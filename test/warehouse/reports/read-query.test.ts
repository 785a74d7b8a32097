import { expect, test, vi } from 'vitest';
import { readQuery } from '../../../src/warehouse/reports/read-query.ts';
import { withDatabase } from '../../support/database.ts';
import { TRAPS_CANCEL } from '../../support/hostile-queries.ts';
import { openProxy } from '../proxy.ts';

const ROWS = 'select generate_series(1, 100000)';

test('a stopped query is an error, however far it came, and its connection can be used again', async () => {
  await withDatabase(async database => {
    database.pool.options.max = 1;
    let rows = 0;
    const read = (stopping: AbortController) =>
      readQuery(
        database,
        { query: ROWS, schema: 'warehouse', timeoutMs: 0, signal: stopping.signal },
        async (_columns, batch) => {
          rows += batch.length;
          stopping.abort();
          return true;
        },
      );
    await expect(read(new AbortController())).rejects.toMatchObject({ kind: 'stopped' });
    expect(rows).toBe(500);
    const stopped = new AbortController();
    stopped.abort();
    await expect(read(stopped)).rejects.toMatchObject({ kind: 'stopped' });
    expect(rows).toBe(500);
    await database.query('select 1');
  });
});

test('a query that traps its cancellation is ended with its session, although queries like it hold all connections', async () => {
  await withDatabase(async database => {
    database.pool.options.max = 2;
    const stopping = new AbortController();
    const queries = [1, 2].map(() =>
      readQuery(
        database,
        { query: TRAPS_CANCEL, schema: 'warehouse', timeoutMs: 0, signal: stopping.signal },
        async () => true,
      ),
    );
    const ended = Promise.allSettled(queries);
    const sleeping = `select from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`;
    const observer = await database.connect('test observer');
    await vi.waitUntil(async () => (await observer.query(sleeping)).rowCount === 2, { timeout: 10_000 });
    stopping.abort();
    const begun = performance.now();
    for (const result of await ended) expect(result).toMatchObject({ status: 'rejected', reason: { kind: 'stopped' } });
    expect(performance.now() - begun).toBeLessThan(10_000);
    expect((await observer.query(sleeping)).rowCount).toBe(0);
    await observer.end();
    await database.query('select 1');
  });
}, 30_000);

test("people's queries are planned as in psql, and so are the functions that they call", async () => {
  await withDatabase(async database => {
    const found: unknown[] = [];
    const query = `select current_setting('enable_seqscan'), current_setting('plan_cache_mode')`;
    await readQuery(
      database,
      { query, schema: 'warehouse', timeoutMs: 0, signal: new AbortController().signal },
      async (_columns, batch) => {
        found.push(...batch);
        return true;
      },
    );
    expect(found).toEqual([['on', 'auto']]);
  });
});

test('a query whose session or connection ends is a database error; COPY is wrong usage', async () => {
  const proxy = await openProxy();
  await withDatabase(async (owner, test) => {
    const database = await proxy.open(test);
    const { signal } = new AbortController();
    const read = (query: string) =>
      readQuery(database, { query, schema: 'warehouse', timeoutMs: 0, signal }, async () => {
        proxy.drop();
        return true;
      });
    const sleeping = read('select pg_sleep(60)');
    const end = `select pg_terminate_backend(pid) from pg_stat_activity
      where query = 'select pg_sleep(60)' and wait_event = 'PgSleep' and datname = current_database()`;
    const ended = vi.waitUntil(async () => (await owner.query(end)).rowCount === 1, { timeout: 30_000 });
    await expect(sleeping).rejects.toMatchObject({
      kind: 'database',
      message: expect.stringContaining('ended by an administrator') as string,
    });
    await ended;
    await expect(read(ROWS)).rejects.toMatchObject({
      kind: 'database',
      message: expect.stringContaining('the connection dropped') as string,
    });
    for (const query of [
      'copy customers to stdout',
      '/* /* */ */ copy (select generate_series(1, 10)) to stdout',
      ' ;-- all\n/* of * them */ COPY (select 1) TO STDOUT',
    ])
      await expect(read(query)).rejects.toMatchObject({
        kind: 'usage',
        next: expect.stringContaining('--format csv') as string,
      });
    await database.close();
  });
  await proxy.close();
});

test('a query that finds all connections busy says so', async () => {
  await withDatabase(async database => {
    const held = await database.pool.connect();
    database.pool.options.connectionTimeoutMillis = 50;
    const { signal } = new AbortController();
    const read = readQuery(database, { query: ROWS, schema: 'warehouse', timeoutMs: 0, signal }, async () => true);
    const error: unknown = await read.catch((error: unknown) => error);
    held.release();
    const message = expect.stringContaining('all connections of this process were busy') as string;
    expect(error).toMatchObject({ kind: 'database', message });
  });
});
