import { expect, test } from 'vitest';
import { createLog } from '../../../src/log.ts';
import { openDatabase } from '../../../src/warehouse/database/database.ts';
import { showsAllWritten } from '../../../src/warehouse/reports/replica.ts';
import { withDatabase } from '../../support/database.ts';

const { signal } = new AbortController();

test('the server that Sluice writes to shows all that was written', async () => {
  await withDatabase(async database => {
    expect(await showsAllWritten({ database, reader: database, signal }, 0)).toBe(true);
  });
});

test('a replica is waited for until it shows what was written, and not for longer than allowed', async () => {
  await withDatabase(
    async (database, { url }) => {
      // What a replica says of itself, in a schema that comes before Postgres' own.
      await database.query('create schema replica');
      await database.query('create table replica.shown as select pg_current_wal_lsn() as at');
      await database.query(
        'create function replica.pg_is_in_recovery() returns boolean language sql as $$ select true $$',
      );
      await database.query(
        'create function replica.pg_last_wal_replay_lsn() returns pg_lsn language sql as $$ select at from replica.shown $$',
      );
      const path = '-c search_path=replica,pg_catalog';
      const log = createLog({ level: 'silent' });
      const reader = await openDatabase({
        url: `${url}${url.includes('?') ? '&' : '?'}options=${encodeURIComponent(path)}`,
        applicationName: 'reader',
        log,
      });
      const shows = (waitMs: number) => showsAllWritten({ database, reader, signal }, waitMs);
      await database.query('create table replica.more as select 1 as one');
      expect(await shows(0)).toBe(false);
      const waiting = shows(60_000);
      await database.query(`update replica.shown set at = 'FFFFFFFF/0'`);
      expect(await waiting).toBe(true);
      await reader.close();
    },
    { connections: 2 },
  );
});
