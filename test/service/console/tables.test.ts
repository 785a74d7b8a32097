import { expect, test } from 'vitest';
import { SluiceError } from '../../../src/errors.ts';
import { withDatabase } from '../../support/database.ts';
import { asAdmin } from '../../support/postgres.ts';
import { withReader } from '../with-reader.ts';
import { ask, withService } from '../with-service.ts';

test('the data page counts small tables, and shows an estimate of large ones', async () => {
  await withDatabase(async database => {
    await database.query('create table warehouse.large (id int, filler text)');
    await database.query('alter table warehouse.large alter column filler set storage plain');
    await database.query("insert into warehouse.large select n, repeat('x', 7000) from generate_series(1, 1100) n");
    await database.query('create table warehouse.small as select 1 as id');
    await withService(database, {}, async ({ url }) => {
      const rowOf = async (name: string) =>
        new RegExp(`>${name}</a>.*?<td[^>]*>([^<]*)<`, 's').exec((await ask(`${url}/data`)).text)?.[1];
      expect([await rowOf('large'), await rowOf('small')]).toEqual(['many rows', '1']);
      await database.query('analyze warehouse.large');
      expect([await rowOf('large'), await rowOf('small')]).toEqual(['about 1,100', '1']);
      expect((await ask(`${url}/data/main/large`)).text).toContain('50 of about 1,100');
    });
  });
});

test('a table that the service may not read is left out of the data page', async () => {
  await withDatabase(async (database, { adminUrl }) => {
    await asAdmin(adminUrl, 'create table warehouse.foreign_table (id int)');
    await withService(database, {}, async ({ url }) => {
      const { status, text } = await ask(`${url}/data`);
      expect([status, text.includes('customers'), text.includes('foreign_table')]).toEqual([200, true, false]);
      expect((await ask(`${url}/data/main/foreign_table`)).status).toBe(404);
    });
  });
});

test('the data page says why the login that may only read cannot be used', async () => {
  await withDatabase(async (database, given) => {
    const refused = new SluiceError('configuration', 'READER_DATABASE_URL: it may write (secret-7).');
    const hide = (text: string) => text.replace('secret-7', '***');
    const openReader = () => Promise.reject(refused);
    await withService(database, { openReader, hide }, async ({ url }) => {
      const { status, text } = await ask(`${url}/data`);
      expect([status, text]).toEqual([
        200,
        expect.stringContaining('cannot be used: READER_DATABASE_URL: it may write (***)'),
      ]);
      expect(text).not.toContain('No read-only login is set');
    });
    await withReader(database, given, async reader => {
      const held = await reader.pool.connect();
      reader.pool.options.max = 1;
      reader.pool.options.connectionTimeoutMillis = 50;
      await withService(database, { openReader: async () => reader }, async ({ url }) => {
        const { status, text } = await ask(`${url}/data`);
        held.release();
        expect([status, text]).toEqual([200, expect.stringContaining('all connections of this process were busy')]);
      });
    });
  });
});

test('a list is counted again only after a commit, whichever page shows it', async () => {
  await withDatabase(async database => {
    const add = (id: number) =>
      database.query('insert into warehouse.customers (id, _synced_at, _read_at) values ($1, now(), now())', [id]);
    await add(1);
    await database.query("insert into sluice.cursors (source, resource) values ('main', 'customers')");
    await withService(database, {}, async ({ url }) => {
      const rows = async () => {
        const { text } = await ask(`${url}/status.json?source=main`);
        const { resources } = JSON.parse(text) as { resources: { resource: string; rows: number }[] };
        return resources.find(({ resource }) => resource === 'customers')?.rows;
      };
      expect(await rows()).toBe(1);
      await add(2);
      expect(await rows()).toBe(1);
      await database.query('update sluice.cursors set version = version + 1');
      expect(await rows()).toBe(2);
    });
  });
});
