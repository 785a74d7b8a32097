import { expect, test } from 'vitest';
import { explain } from '../../src/errors.ts';
import { recogniseSource, refuseOthersRows } from '../../src/warehouse/ledgers/sources.ts';
import { withDatabase } from '../support/database.ts';

test('a source that was read from another address is refused, with what to do by its name', async () => {
  await withDatabase(async ({ kysely, query }) => {
    for (const [source, option] of [
      ['main', ''],
      ['vienna', ' --source vienna'],
    ] as const) {
      const from = (host: string, moved = false) =>
        recogniseSource(kysely, { source, url: `https://${host}`, schema: source, moved }).catch(explain);
      expect(await from('old.example.com')).toBeUndefined();
      await query(
        `insert into sluice.coverage (source, resource, slice, read_at) values ($1, 'customers', 'whole', sluice.now())`,
        [source],
      );
      const refused = await from('new.example.com');
      expect(refused).toContain(`sluice sync${option} --moved.`);
      expect(refused).toContain(`sluice reset <resource>${option}`);
      expect(await from('new.example.com', true)).toBeUndefined();
    }
  });
});

test('a source whose rows are in another schema is refused, until nothing that was read is left', async () => {
  await withDatabase(async ({ kysely, query }) => {
    const into = (schema: string) =>
      recogniseSource(kysely, { source: 'graz', url: 'https://example.com', schema, moved: true }).catch(explain);
    expect(await into('first')).toBeUndefined();
    expect(await into('second')).toBeUndefined();
    await query(
      `insert into sluice.coverage (source, resource, slice, read_at) values ('graz', 'customers', 'whole', sluice.now())`,
    );
    expect(await into('first')).toContain('in the schema "second" so far, and its schema is now "first"');
    expect(await into('second')).toBeUndefined();
    await query('delete from sluice.coverage');
    expect(await into('first')).toBeUndefined();
    // As it was before schemas were remembered.
    await query(`update sluice.sources set schema = null`);
    expect(await into('third')).toBeUndefined();
  });
});

test('of two names for one schema the second is refused once the first was read, and forgets nothing of it', async () => {
  await withDatabase(async ({ kysely, query }) => {
    const url = 'https://example.com';
    const begins = (source: string) =>
      recogniseSource(kysely, { source, url, schema: 'warehouse', moved: false }).catch(explain);
    const resets = (source: string) => refuseOthersRows(kysely, { source, schema: 'warehouse' }).catch(explain);
    const wasRead = (source: string) =>
      query(
        `insert into sluice.coverage (source, resource, slice, read_at) values ($1, 'customers', 'whole', sluice.now())`,
        [source],
      );
    expect(await begins('linz')).toBeUndefined();
    expect(await begins('graz')).toBeUndefined();
    await wasRead('graz');
    expect(await begins('graz')).toBeUndefined();
    for (const refused of [await begins('linz'), await resets('linz')]) {
      expect(refused).toContain(
        'The schema "warehouse" holds the rows of source "graz", and source "linz" is set to it',
      );
      expect(refused).toContain('sluice reset <resource> --source graz');
    }
    expect(await resets('graz')).toBeUndefined();
    // Both had begun at the same moment: neither goes on, and a reset by either name puts it right.
    await wasRead('linz');
    for (const source of ['graz', 'linz']) {
      expect(await begins(source)).toContain('The schema "warehouse" holds the rows of source');
      expect(await resets(source)).toBeUndefined();
    }
  });
});

test('a source that is as it was is not written anew at each look', async () => {
  await withDatabase(async ({ kysely, query }) => {
    const look = (url: string) =>
      recogniseSource(kysely, { source: 'graz', url, schema: 'graz', moved: false }).then(() =>
        query('select xmin::text, xmax::text, ctid::text, address from sluice.sources'),
      );
    const { rows } = await look('https://example.com/');
    expect((await look('https://example.com')).rows).toEqual(rows);
    expect((await look('https://other.example.com')).rows).toMatchObject([{ address: 'other.example.com' }]);
  });
});
