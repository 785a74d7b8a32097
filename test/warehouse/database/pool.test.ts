import { expect, test } from 'vitest';
import { createLog } from '../../../src/log.ts';
import { openDatabase } from '../../../src/warehouse/database/database.ts';
import { connect, connecting } from '../../../src/warehouse/database/pool.ts';
import { createTestDatabase, withDatabase } from '../../support/database.ts';
import { openProxy } from '../proxy.ts';

const LIMITS =
  "select current_setting('statement_timeout') || ' ' || current_setting('idle_in_transaction_session_timeout') as limits";

/** The names of the parameters in a start-up packet of protocol 3.0; null for any other packet. */
function startupParameters(packet: string): string[] | null {
  if (packet.slice(4, 8) !== '\0\x03\0\0') return null;
  return packet
    .slice(8)
    .split('\0')
    .filter((text, at) => at % 2 === 0 && text !== '');
}

test('a connection starts with no parameter that PgBouncer refuses', async () => {
  const test = await createTestDatabase();
  const started: string[][] = [];
  const proxy = await openProxy(packet => {
    const names = startupParameters(packet);
    if (names) started.push(names);
    return packet;
  });
  const database = await proxy.open(test);
  const alone = await database.connect('alone');
  expect((await alone.query(LIMITS)).rows).toEqual([{ limits: '5min 2min' }]);
  await alone.end();
  await database.close();
  await proxy.close();
  expect(started).toHaveLength(2);
  for (const names of started)
    expect(names.sort()).toEqual(['application_name', 'client_encoding', 'database', 'user']);
  await test.drop();
});

test('every connection of a pool has its time-outs and time zone before its first use', async () => {
  await withDatabase(
    async database => {
      const all = await Promise.all(
        Array.from({ length: 4 }, () =>
          database.query(`${LIMITS}, current_setting('timezone') as zone, pg_backend_pid() as pid, pg_sleep(0.05)`),
        ),
      );
      expect(new Set(all.map(({ rows }) => rows[0]?.pid)).size).toBe(4);
      for (const { rows } of all) expect(rows).toMatchObject([{ limits: '5min 2min', zone: 'UTC' }]);
    },
    { connections: 4 },
  );
});

test('a time-out that DATABASE_URL names is kept', async () => {
  const test = await createTestDatabase();
  const client = await connect(connecting(`${test.url}?statement_timeout=7000`, 'test'));
  expect((await client.query(LIMITS)).rows).toEqual([{ limits: '7s 2min' }]);
  await client.end();
  await test.drop();
});

test('values are written in one way, whatever the server and the address set', async () => {
  await withDatabase(async (_, test) => {
    const query = `select timestamptz '2026-01-15 10:00Z' as at, date '2026-01-15' as day, interval '1 day 2 hours'::text as long,
      0.1::float8 + 0.2 as sum, '\\x01'::bytea::text as bytes`;
    const expected = {
      at: '2026-01-15 10:00:00+00',
      day: '2026-01-15',
      long: '1 day 02:00:00',
      sum: 0.1 + 0.2,
      bytes: '\\x01',
    };
    const options = ['datestyle=German', 'intervalstyle=iso_8601', 'extra_float_digits=0', 'bytea_output=escape'];
    const url = `${test.url}?options=${encodeURIComponent(options.map(each => `-c ${each}`).join(' '))}`;
    const client = await connect(connecting(url, 'test'));
    expect((await client.query(query)).rows).toEqual([expected]);
    await client.end();
    const database = await openDatabase({ url, applicationName: 'test', log: createLog({ level: 'error' }) });
    expect((await database.query(query)).rows).toEqual([expected]);
    await database.close();
  });
});
