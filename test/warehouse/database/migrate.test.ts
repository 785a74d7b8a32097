import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { expect, test } from 'vitest';
import { type Clock, MINUTE } from '../../../src/clock.ts';
import { explain } from '../../../src/errors.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { type MigrationOptions, migrate, pendingMigrations } from '../../../src/warehouse/database/migrate.ts';
import { createTestDatabase, MIGRATIONS, withDatabase } from '../../support/database.ts';

test('a migrated database has nothing pending, and migrating again runs nothing', async () => {
  await withDatabase(async database => {
    expect(await pendingMigrations({ database, ...MIGRATIONS })).toEqual([]);
    expect(await migrate({ database, ...MIGRATIONS })).toEqual([]);
  });
});

test('the warehouse schema holds only data: the migration tables are in sluice', async () => {
  await withDatabase(async database => {
    const { rows } = await database.query<{ schema: string; name: string }>(
      "select schemaname as schema, tablename as name from pg_tables where tablename like '%migration%' order by 1, 2",
    );
    expect(rows.map(row => `${row.schema}.${row.name}`)).toEqual([
      'sluice.migrations',
      'sluice.migrations_lock',
      'sluice.migrations_warehouse',
      'sluice.migrations_warehouse_lock',
    ]);
    const clock = await database.query<{ close: boolean }>(
      'select abs(extract(epoch from sluice.now() - clock_timestamp())) < 1 as close',
    );
    expect(clock.rows).toEqual([{ close: true }]);
  });
});

/** A warehouse folder with the given files, beside the real bookkeeping. */
async function withFolder(files: Record<string, string>, fn: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-migrations-'));
  try {
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
    await fn(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const ADDS_A_TABLE = `export async function up(db) {
  await db.schema.createTable('things').addColumn('id', 'bigint').execute();
  await db.schema.createIndex('things_id').on('things').column('id').execute();
  await db.insertInto('things').values({ id: 7 }).execute();
}`;

test('a migration works in the schema of its source without naming it', async () => {
  await withFolder({ '0001_things.js': ADDS_A_TABLE }, async warehouseFolder => {
    await withDatabase(async database => {
      for (const schema of ['shop_a', 'Shop "B"']) {
        const options = { database, ...MIGRATIONS, schema, lists: [], warehouseFolder };
        expect(await pendingMigrations(options)).toEqual([`${schema}/0001_things`]);
        expect(await migrate(options)).toEqual([`${schema}/0001_things`]);
        expect(await pendingMigrations(options)).toEqual([]);
      }
      const { rows } = await database.query(
        "select schemaname as schema, indexname as index from pg_indexes where tablename = 'things' order by 1",
      );
      expect(rows).toEqual([
        { schema: 'Shop "B"', index: 'things_id' },
        { schema: 'shop_a', index: 'things_id' },
      ]);
    });
  });
});

test('a failing migration is rolled back completely, is named, and can be repeated', async () => {
  const files = {
    '0001_things.js': ADDS_A_TABLE,
    '0002_bad.js': `import { sql } from ${JSON.stringify(import.meta.resolve('kysely'))};
      export const up = db => sql\`select 1 / 0\`.execute(db);`,
  };
  await withFolder(files, async warehouseFolder => {
    await withDatabase(async database => {
      const options = { database, ...MIGRATIONS, schema: 'shop', lists: [], warehouseFolder };
      await expect(migrate(options)).rejects.toMatchObject({
        kind: 'failed',
        message: expect.stringMatching(/shop\/0002_bad failed.*division by zero/),
      });
      expect((await database.query("select to_regclass('shop.things') as t")).rows).toEqual([{ t: null }]);
      await rm(join(warehouseFolder, '0002_bad.js'));
      expect(await migrate(options)).toEqual(['shop/0001_things']);
    });
  });
});

test('a database migrated by a newer Sluice is refused', async () => {
  await withFolder(
    { '0001_things.js': ADDS_A_TABLE, '0002_more.js': 'export async function up() {}' },
    async folder => {
      await withDatabase(async database => {
        const options = { database, ...MIGRATIONS, schema: 'shop', lists: [], warehouseFolder: folder };
        await migrate(options);
        await rm(join(folder, '0002_more.js'));
        const refusal = { kind: 'configuration', message: expect.stringContaining('0002_more') };
        await expect(migrate(options)).rejects.toMatchObject(refusal);
        await expect(pendingMigrations(options)).rejects.toMatchObject(refusal);
      });
    },
  );
});

test('waiting for another process to migrate is reported once, stops on a signal, and ends when the other is done', async () => {
  await withDatabase(async database => {
    const other = await database.connect('another process');
    await other.query("select pg_advisory_lock(hashtextextended('sluice migrate', 0))");
    let told = 0;
    const stopping = new AbortController();
    const tell = () => {
      told++;
      stopping.abort();
    };
    const waiting = migrate({ database, ...MIGRATIONS, onNotice: tell, signal: stopping.signal });
    await expect(waiting).rejects.toMatchObject({ kind: 'stopped' });
    await expect(migrate({ database, ...MIGRATIONS, signal: stopping.signal })).rejects.toMatchObject({
      kind: 'stopped',
    });
    expect(await migrate({ database, ...MIGRATIONS, onNotice: () => void other.end() })).toEqual([]);
    expect(told).toBe(1);
  });
});

test('processes that migrate an empty database at the same moment migrate it once', async () => {
  const test = await createTestDatabase({ empty: true });
  const processes = await Promise.all([test.open('a'), test.open('b'), test.open('c')]);
  try {
    const run = await Promise.all(processes.map(database => migrate({ database, ...MIGRATIONS })));
    expect(run.filter(names => names.length > 0)).toHaveLength(1);
    expect(run.flat()).toContain('sluice/0001_clock_and_budget');
  } finally {
    await Promise.all(processes.map(database => database.close()));
    await test.drop();
  }
});

const ADDS_A_COLUMN = `export const up = db => db.schema.alterTable('things').addColumn('more', 'text').execute();`;

/** A migration that a reader's open transaction keeps from its table. */
async function withBlocker(
  fn: (given: { database: Database; options: MigrationOptions; reader: pg.Client; pid: number }) => Promise<void>,
): Promise<void> {
  await withFolder({ '0001_things.js': ADDS_A_TABLE }, async warehouseFolder => {
    await withDatabase(async database => {
      const options = { database, ...MIGRATIONS, schema: 'shop', lists: [], warehouseFolder };
      await migrate(options);
      await writeFile(join(warehouseFolder, '0002_more.js'), ADDS_A_COLUMN);
      const reader = await database.connect('a BI tool');
      try {
        await reader.query("begin; select * from shop.things where id::text = 'hunter2'");
        const { rows } = await reader.query<{ pid: number }>('select pg_backend_pid() as pid');
        await reader.query("select id from shop.things where id::text = 'hunter2' and id <> 4711");
        await fn({ database, options, reader, pid: rows[0]?.pid as number });
      } finally {
        await reader.end();
      }
    });
  });
}

/** A minute passes at each sleep; `work` runs meanwhile. */
const minutes = (work: () => Promise<unknown> = async () => undefined): Clock => {
  let at = 0;
  return {
    now: () => at,
    elapsed: () => at,
    async sleep() {
      at += MINUTE;
      await work();
    },
  };
};

test('a migration that waits for a reader gives up after minutes, and names the reader and how to end it', async () => {
  await withBlocker(async ({ options, pid }) => {
    const told: string[] = [];
    const failing = migrate({ ...options, clock: minutes(), onNotice: line => told.push(line) });
    await expect(failing).rejects.toMatchObject({
      kind: 'database',
      message: expect.stringMatching(
        new RegExp(
          `shop.*process ${pid} \\(user \\w+, application "a BI tool", idle in transaction for \\d+ s, query: select id from shop.things where \\.\\.\\)`,
        ),
      ),
      next: expect.stringContaining(`select pg_terminate_backend(${pid})`),
    });
    expect(explain(await failing.catch((error: unknown) => error))).not.toMatch(/hunter2|4711/);
    expect(told).toEqual([expect.stringContaining(`process ${pid} `)]);
    expect(await pendingMigrations(options)).toEqual(['shop/0002_more']);
  });
});

test('while a migration waits for a reader, other readings go on, and it runs as soon as the reader has ended', async () => {
  await withBlocker(async ({ database, options, reader }) => {
    let read = 0;
    const clock = minutes(async () => {
      await database.query("set statement_timeout = '5s'; select from shop.things");
      if (++read === 2) await reader.query('rollback');
    });
    expect(await migrate({ ...options, clock })).toEqual(['shop/0002_more']);
    expect(read).toBe(2);
  });
});

test('a migration that waits for a reader obeys the first signal', async () => {
  await withBlocker(async ({ options }) => {
    const stopping = new AbortController();
    const waiting = migrate({ ...options, signal: stopping.signal, onNotice: () => stopping.abort() });
    await expect(waiting).rejects.toMatchObject({ kind: 'stopped' });
  });
});
