import { expect, test } from 'vitest';
import { explain } from '../../../src/errors.ts';
import { recogniseSource, refuseOthersRows } from '../../../src/warehouse/ledgers/sources.ts';
import { withDatabase } from '../../support/database.ts';

test('a source that was read from another address is refused, with commands that name it', async () => {
  await withDatabase(async ({ kysely, query }) => {
    for (const [source, option] of [
      ['main', ''],
      ['vienna', ' --source vienna'],
    ] as const) {
      const from = (host: string, moved = false) =>
        recogniseSource(kysely, { source, url: `https://${host}`, schema: source, currency: null, moved }).catch(
          explain,
        );
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

test('a source whose rows are in another schema is refused until nothing that was read is left', async () => {
  await withDatabase(async ({ kysely, query }) => {
    const into = (schema: string) =>
      recogniseSource(kysely, {
        source: 'graz',
        url: 'https://example.com',
        schema,
        currency: null,
        moved: true,
      }).catch(explain);
    expect(await into('first')).toBeUndefined();
    expect(await into('second')).toBeUndefined();
    await query(
      `insert into sluice.coverage (source, resource, slice, read_at) values ('graz', 'customers', 'whole', sluice.now())`,
    );
    expect(await into('first')).toContain('in the schema "second", but it is now configured for the schema "first"');
    expect(await into('second')).toBeUndefined();
    await query('delete from sluice.coverage');
    expect(await into('first')).toBeUndefined();
    // As an earlier version left it.
    await query(`update sluice.sources set schema = null`);
    expect(await into('third')).toBeUndefined();
  });
});

test('of two sources in one schema the second is refused once the first was read, and may not reset it', async () => {
  await withDatabase(async ({ kysely, query }) => {
    const url = 'https://example.com';
    const begins = (source: string) =>
      recogniseSource(kysely, { source, url, schema: 'warehouse', currency: null, moved: false }).catch(explain);
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
        'The schema "warehouse" holds the rows of source "graz", but source "linz" is configured for it as well',
      );
      expect(refused).toContain('sluice reset <resource> --source graz');
    }
    expect(await resets('graz')).toBeUndefined();
    // Both began at the same moment: neither continues, and a reset by either name is the remedy.
    await wasRead('linz');
    for (const source of ['graz', 'linz']) {
      expect(await begins(source)).toContain('The schema "warehouse" holds the rows of source');
      expect(await resets(source)).toBeUndefined();
    }
  });
});

test('an unchanged source is not written again at each check', async () => {
  await withDatabase(async ({ kysely, query }) => {
    const look = (url: string) =>
      recogniseSource(kysely, { source: 'graz', url, schema: 'graz', currency: null, moved: false }).then(() =>
        query('select xmin::text, xmax::text, ctid::text, address from sluice.sources'),
      );
    const { rows } = await look('https://example.com/');
    expect((await look('https://example.com')).rows).toEqual(rows);
    expect((await look('https://other.example.com')).rows).toMatchObject([{ address: 'other.example.com' }]);
  });
});
