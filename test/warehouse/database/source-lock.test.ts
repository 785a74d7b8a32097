import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { acquireSourceLock, findReader, type SourceLock } from '../../../src/warehouse/database/source-lock.ts';
import { lookForWork } from '../../../src/warehouse/reports/due.ts';
import { withDatabase } from '../../support/database.ts';

test('a source has one holder; the next gets the lock as soon as it is released', async () => {
  await withDatabase(async (database, test) => {
    const other = await test.open('other');
    try {
      const lock = (await acquireSourceLock(database, 'shop')) as SourceLock;
      expect(await acquireSourceLock(other, 'shop')).toBe(null);
      expect(await acquireSourceLock(database, 'shop')).toBe(null);
      const elsewhere = await acquireSourceLock(other, 'another shop');
      expect(elsewhere).not.toBe(null);
      await lock.release();
      const next = await acquireSourceLock(other, 'shop');
      expect(next).not.toBe(null);
      expect(lock.lost.aborted).toBe(false);
      await elsewhere?.release();
      await next?.release();
    } finally {
      await other.close();
    }
  });
});

test('the holder of a lock is found under its command, whatever the length of the names', async () => {
  await withDatabase(async database => {
    const long = 's'.repeat(40);
    expect(await findReader(database, long)).toBe(null);
    const lock = (await acquireSourceLock(database, long, 'backfill')) as SourceLock;
    expect([await findReader(database, long), await findReader(database, 'shop')]).toEqual([
      { command: 'backfill' },
      null,
    ]);
    await lock.release();
    const service = (await acquireSourceLock(database, 'shop')) as SourceLock;
    expect(await findReader(database, 'shop')).toEqual({ command: null });
    await service.release();
    expect(await findReader(database, 'shop')).toBe(null);
  });
});

test('of many simultaneous requests exactly one gets the lock', async () => {
  await withDatabase(async database => {
    const locks = await Promise.all(Array.from({ length: 8 }, () => acquireSourceLock(database, 'shop')));
    const held = locks.filter(lock => lock !== null);
    expect(held).toHaveLength(1);
    await held[0]?.release();
  });
});

test('a lock whose session ends is lost, and another process can take it', async () => {
  await withDatabase(async database => {
    const lock = (await acquireSourceLock(database, 'shop')) as SourceLock;
    const lost = once(lock.lost, 'abort');
    await database.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'sluice reads shop' and datname = current_database()",
    );
    await lost;
    expect(lock.lost.reason).toMatchObject({
      name: 'SluiceError',
      kind: 'database',
      message: expect.stringContaining('shop'),
    });
    // The session told us that it ends before it had given up its locks.
    let next: SourceLock | null = null;
    while (!next) next = await acquireSourceLock(database, 'shop');
    await next.release();
    await lock.release();
  });
});

test('a command that waits for a source is seen by whoever reads it, and by no other source', async () => {
  await withDatabase(
    async (database, test) => {
      const lock = (await acquireSourceLock(database, 'shop')) as SourceLock;
      const isWanted = async (source: string) => (await lookForWork(database.kysely, source)).isWanted;
      expect(await isWanted('shop')).toBe(false);
      const other = await test.open('other');
      const waiting = acquireSourceLock(other, 'shop', 'sync', { waitMs: 60_000 });
      while (!(await isWanted('shop'))) await new Promise(resolve => setTimeout(resolve, 10));
      expect(await isWanted('mill')).toBe(false);
      await lock.release();
      const its = await waiting;
      expect(await isWanted('shop')).toBe(false);
      await its?.release();
      await other.close();
    },
    { connections: 3 },
  );
});

test('sources whose names have the same 32-bit hash are read at the same time', async () => {
  await withDatabase(async (database, test) => {
    const [first, second] = ['s180303', 's190456'] as const;
    const { rows } = await database.query(`select hashtext('source ${first}') = hashtext('source ${second}') as equal`);
    expect(rows).toEqual([{ equal: true }]);
    const other = await test.open('other');
    const lock = (await acquireSourceLock(database, first, 'sync')) as SourceLock;
    expect(await findReader(other, second)).toBe(null);
    const its = await acquireSourceLock(other, second, 'verify');
    expect(its).not.toBe(null);
    expect([await findReader(database, first), await findReader(database, second)]).toEqual([
      { command: 'sync' },
      { command: 'verify' },
    ]);
    expect(await acquireSourceLock(other, first)).toBe(null);
    await lock.release();
    expect([await findReader(database, first), await findReader(database, second)]).toEqual([
      null,
      { command: 'verify' },
    ]);
    await its?.release();
    await other.close();
  });
});

test('no advisory lock has a key of 32 bits', () => {
  const using = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.ts'))
    .filter(file =>
      /hashtext|advisory(_xact)?_lock(_shared)?\((?!\$\{LOCK_KEY\})/.test(readFileSync(`src/${file}`, 'utf8')),
    );
  expect(using.sort()).toEqual([
    // In a room below the warehouse, with 64 bits too.
    'embedded-postgres/roles.ts',
    'warehouse/database/lock-key.ts',
    'warehouse/database/source-lock.ts',
  ]);
});
