import { expect, test } from 'vitest';
import { explain } from '../../src/errors.ts';
import { recogniseSource } from '../../src/warehouse/sources.ts';
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
