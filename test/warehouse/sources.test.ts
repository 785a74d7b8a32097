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
        recogniseSource(kysely, { source, url: `https://${host}`, moved }).catch(explain);
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
