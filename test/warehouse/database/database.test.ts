import { createServer } from 'node:net';
import { sql } from 'kysely';
import pg from 'pg';
import { expect, inject, test } from 'vitest';
import { explain, type SluiceError } from '../../../src/errors.ts';
import { createLog } from '../../../src/log.ts';
import { type Db, openDatabase, type Transaction } from '../../../src/warehouse/database/database.ts';
import { explainDatabaseError } from '../../../src/warehouse/database/database-errors.ts';
import { ask } from '../../support/ask.ts';
import { createTestDatabase, inDatabase, withDatabase } from '../../support/database.ts';
import { asAdmin } from '../../support/postgres.ts';
import { openProxy } from '../proxy.ts';

const log = createLog({ level: 'error' });

/** The error of opening `url`, checked not to contain the password. */
async function failure(url: string): Promise<SluiceError> {
  const error = await openDatabase({ url, applicationName: 'test', log }).then(
    () => undefined,
    (error: SluiceError) => error,
  );
  if (!error) throw new Error('it opened');
  const password = decodeURIComponent(/:\/\/[^:]*:([^@]*)@/.exec(url)?.[1] ?? 'none');
  expect(`${explain(error)} ${error.stack} ${JSON.stringify(error)}`).not.toContain(password);
  return error;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise(resolve => server.close(resolve));
  return port;
}

test('dates, stamps, 8-byte integers and numerics arrive as exact text, and the session is in UTC', async () => {
  await withDatabase(async database => {
    const sql = `select 9007199254740993 as id, 0.10::numeric as money, date '2026-03-29' as day,
      timestamptz '2026-03-29 01:30:00.123456+02' as at, timestamp '2026-03-29 02:30' as local, 7 as small, true as yes,
      current_setting('TimeZone') as zone`;
    const expected = {
      id: '9007199254740993',
      money: '0.10',
      day: '2026-03-29',
      at: '2026-03-28 23:30:00.123456+00',
      local: '2026-03-29 02:30:00',
      small: 7,
      yes: true,
      zone: 'UTC',
    };
    expect((await database.query(sql)).rows).toEqual([expected]);
    const { rows } = await database.transaction(transaction => transaction.query(sql));
    expect(rows).toEqual([expected]);
    const raw = await database.kysely.selectNoFrom(eb => eb.val('2026-03-29').$castTo<string>().as('day')).execute();
    expect(raw).toEqual([{ day: '2026-03-29' }]);
  });
});

test('the parsers are private: those of pg itself are unchanged', () => {
  expect(pg.types.getTypeParser(1082)('2026-03-29')).toBeInstanceOf(Date);
});

test('a transaction commits what it returns from and rolls back what it throws from', async () => {
  await withDatabase(async database => {
    await database.query('create table t (n int)');
    expect(await database.transaction(async ({ query }) => (await query('insert into t values (1)')).rowCount)).toBe(1);
    const mine = new TypeError('mine');
    await expect(
      database.transaction(async ({ query }) => {
        await query('insert into t values (2)');
        throw mine;
      }),
    ).rejects.toBe(mine);
    expect((await database.query('select n from t')).rows).toEqual([{ n: 1 }]);
    expect(database.pool.idleCount).toBe(database.pool.totalCount);
  });
});

test('what a transaction sends alone does not begin it, and belongs to it once it has begun', async () => {
  await withDatabase(async database => {
    await database.query('create table t (n int)');
    const begun = sql<{ begun: boolean }>`select now() < statement_timestamp() as begun`;
    const isBegun = async (db: Db) => {
      await sql`select pg_sleep(0.01)`.execute(db);
      return (await begun.execute(db)).rows[0]?.begun;
    };
    const failed = database.transaction(async tx => {
      expect(await isBegun(tx.alone)).toBe(false);
      await sql`insert into t values (1)`.execute(tx.alone);
      await sql`insert into t values (2)`.execute(tx);
      expect(await isBegun(tx.alone)).toBe(true);
      await sql`insert into t values (3)`.execute(tx.alone);
      throw new TypeError('mine');
    });
    await expect(failed).rejects.toThrow('mine');
    expect((await database.query('select n from t')).rows).toEqual([{ n: 1 }]);
    const zone = (tx: Transaction) =>
      sql<{ zone: string }>`select current_setting('TimeZone') as zone`.execute(tx.alone);
    const { rows } = await database.transaction(zone, { timeZone: 'Europe/Vienna' });
    expect(rows).toEqual([{ zone: 'Europe/Vienna' }]);
  });
});

test('connections of the pool do without sequential scans, since plans outlive the size that a table had, and plan a statement once', async () => {
  await withDatabase(async database => {
    expect((await database.query('show enable_seqscan')).rows).toEqual([{ enable_seqscan: 'off' }]);
    expect((await database.query('show plan_cache_mode')).rows).toEqual([{ plan_cache_mode: 'force_generic_plan' }]);
  });
});

test('no connection compiles statements, whatever the server does by default', async () => {
  await withDatabase(async database => {
    await database.query(`do $$ begin execute format('alter database %I set jit = on', current_database()); end $$`);
    const client = await database.connect('jit');
    expect((await client.query('show jit')).rows).toEqual([{ jit: 'off' }]);
    await client.end();
  });
});

test('a statement with parameters stays prepared from its second use on', async () => {
  await withDatabase(async database => {
    const prepared = () =>
      database.transaction(async tx => {
        await tx.query('select $1::int + 1', [1]);
        await sql`select ${2}::int + 2`.execute(tx);
        const { rows } = await tx.query('select statement from pg_prepared_statements order by 1');
        return rows;
      });
    expect(await prepared()).toEqual([]);
    expect(await prepared()).toEqual([{ statement: 'select $1::int + 1' }, { statement: 'select $1::int + 2' }]);
  });
});

test('timestamps without a zone are read in the zone of their transaction, and no other', async () => {
  await withDatabase(async database => {
    const noon = async (options?: { timeZone: string }) =>
      (
        await database.transaction(
          ({ query }) => query("select timestamptz '2026-07-01 12:00' at time zone 'UTC' as at"),
          options,
        )
      ).rows;
    expect(await noon({ timeZone: 'Europe/Vienna' })).toEqual([{ at: '2026-07-01 10:00:00' }]);
    expect(await noon()).toEqual([{ at: '2026-07-01 12:00:00' }]);
  });
});

const at = (change: (url: URL) => void) => {
  const url = new URL(inject('postgresUrl'));
  change(url);
  return url.href;
};

test('a wrong password is reported, and not repeated', async () => {
  const error = await failure(
    at(url => {
      url.password = 'a-wrong-one';
    }),
  );
  expect(error).toMatchObject({ kind: 'database', next: 'Correct them in DATABASE_URL.' });
  expect(error.message).toMatch(/^The database at 127\.0\.0\.1:\d+\/\w+: wrong user or password\.$/);
});

test('a file of the address that cannot be read is a wrong setting', async () => {
  const url = (name: string) => at(({ searchParams }) => searchParams.set(name, '/nowhere/file.pem'));
  for (const name of ['sslrootcert', 'sslcert', 'sslkey'])
    expect(await failure(url(name))).toMatchObject({
      kind: 'configuration',
      message: `The address of the database cannot be used: ${name} is /nowhere/file.pem, which cannot be read (ENOENT).`,
      next: expect.stringContaining('DATABASE_URL') as string,
    });
});

test('a database that does not exist is reported', async () => {
  const error = await failure(inDatabase(inject('postgresUrl'), 'not_there'));
  expect(error.message).toMatch(/\/not_there: the database does not exist/);
});

test('a port where nothing answers is reported', async () => {
  const port = String(await freePort());
  const error = await failure(
    at(url => {
      url.port = port;
    }),
  );
  expect(error).toMatchObject({ kind: 'database' });
  expect(error.message).toContain(`127.0.0.1:${port}`);
  expect(error.message).toContain('connection refused');
});

test('a host that does not exist is reported', async () => {
  const error = await failure(
    at(url => {
      url.hostname = 'no-such-host.invalid';
    }),
  );
  expect(error).toMatchObject({ kind: 'database' });
});

test('a connection ended by the server during a query is reported, and the pool works on', async () => {
  await withDatabase(
    async database => {
      const working = database.transaction(async ({ query }) => {
        const { rows } = await query<{ pid: number }>('select pg_backend_pid() as pid');
        const end = database.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
        await Promise.all([query('select pg_sleep(30)'), end]);
      });
      await expect(working).rejects.toMatchObject({ kind: 'database' });
      expect((await database.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    },
    { connections: 2 },
  );
});

test('a connection ended before its transaction began goes to nobody who waits for one', async () => {
  await withDatabase(async (_, test) => {
    const database = await test.open('ended', 1);
    let waiting: Promise<unknown> | undefined;
    const working = database.transaction(async ({ alone }) => {
      waiting = database.query('select 1 as one').then(({ rows }) => rows, String);
      await sql`select pg_terminate_backend(pg_backend_pid())`.execute(alone);
    });
    await expect(working).rejects.toMatchObject({ kind: 'database' });
    expect(await waiting).toEqual([{ one: 1 }]);
    await database.close();
  });
});

test('a connection ended while idle is replaced silently', async () => {
  await withDatabase(async (database, test) => {
    const other = await test.open('other');
    try {
      const { rows } = await other.query<{ pid: number }>('select pg_backend_pid() as pid');
      await database.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
      // Until the news has arrived, the query may still go out on the dead connection.
      while (other.pool.totalCount > 0) await new Promise(resolve => setImmediate(resolve));
      expect((await other.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    } finally {
      await other.close();
    }
  });
});

test('work that waited too long for a connection of its own process is reported as such, not as a lost server', async () => {
  const test = await createTestDatabase();
  const database = await openDatabase({ url: test.url, applicationName: 'test', log, max: 1 });
  database.pool.options.connectionTimeoutMillis = 50;
  const held = await database.pool.connect();
  for (const work of [database.query('select 1'), database.transaction(async () => undefined)])
    await expect(work).rejects.toMatchObject({
      kind: 'database',
      message: expect.stringContaining('all connections of this process were busy') as string,
    });
  held.release();
  await database.query('select 1');
  await database.close();
  await test.drop();
});

test('a connection that cannot be set up is not left behind', async () => {
  let spoils = false;
  // Requests a time zone of the same length that does not exist.
  const proxy = await openProxy(text => (spoils ? text.replace("zone 'UTC'", "zone 'XXX'") : text));
  await withDatabase(async (_database, test) => {
    const database = await proxy.open(test);
    spoils = true;
    await expect(database.connect('left behind')).rejects.toThrow(/TimeZone/);
    // Without it the database cannot be dropped.
    await database.close();
  });
  await proxy.close();
});

test('missing permissions name what to grant; a read-only server names the primary', async () => {
  await withDatabase(async (database, test) => {
    const role = `reader_${process.pid}`;
    await asAdmin(test.adminUrl, `create role ${role}; grant ${role} to ${new URL(test.url).username}`);
    try {
      const asReader = database.transaction(async ({ query }) => {
        await query(`set local role ${role}`);
        await query('create schema mine');
      });
      await expect(asReader).rejects.toMatchObject({ kind: 'database', next: expect.stringContaining('GRANT CREATE') });
    } finally {
      await asAdmin(test.adminUrl, `drop role ${role}`);
    }
    const readOnly = database.transaction(async ({ query }) => {
      await query('set transaction read only');
      await query('create schema mine');
    });
    await expect(readOnly).rejects.toMatchObject({ kind: 'database', next: expect.stringContaining('primary') });
  });
});

test('an error of ours keeps its SQLSTATE, through Kysely as well', async () => {
  await withDatabase(async database => {
    await expect(database.query('select * from nowhere')).rejects.toMatchObject({ code: '42P01' });
    await expect(sql`select * from nowhere`.execute(database.kysely)).rejects.toMatchObject({ code: '42P01' });
    const mistake = new TypeError('x is not a function');
    expect(explainDatabaseError(mistake, 'here')).toBe(mistake);
  });
});

test('a connection that drops under Kysely is explained', async () => {
  await withDatabase(async (_database, test) => {
    const other = await test.open('other');
    try {
      const dropped = sql`select pg_terminate_backend(pg_backend_pid()), pg_sleep(30)`.execute(other.kysely);
      await expect(dropped).rejects.toMatchObject({ kind: 'database' });
      const { rows } = await sql`select 1 as one`.execute(other.kysely);
      expect(rows).toEqual([{ one: 1 }]);
    } finally {
      await other.close();
    }
  });
});

test('the leak check works: a database with an open connection cannot be dropped', async () => {
  const test = await createTestDatabase();
  const database = await test.open('forgotten');
  await expect(test.drop()).rejects.toThrow(/forgotten/);
  await database.close();
  await test.drop();
});

test('a database that is not in UTF-8 is refused, with its encoding and the command that creates one that is', async () => {
  const admin = inject('postgresAdminUrl');
  const name = `latin_${process.pid}`;
  const [version] = await ask(admin, "select current_setting('server_version_num')::int as number");
  const libc = (version?.number as number) < 150_000 ? '' : ' locale_provider libc';
  await asAdmin(admin, `create database ${name} encoding 'LATIN1' template template0 locale 'C'${libc}`);
  try {
    expect(await failure(inDatabase(admin, name))).toMatchObject({
      kind: 'configuration',
      message: expect.stringMatching(new RegExp(`/${name} has the encoding LATIN1, `)),
      next: expect.stringContaining('createdb --template template0 --encoding UTF8 '),
    });
  } finally {
    await asAdmin(admin, `drop database ${name}`);
  }
});
