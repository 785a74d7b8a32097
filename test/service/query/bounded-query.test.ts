import { expect, test } from 'vitest';
import { runBounded } from '../../../src/service/query/bounded-query.ts';
import { withDatabase } from '../../support/database.ts';

test('a query that waits for a connection for as long as it may take is told so, not that it was slow', {
  timeout: 40_000,
}, async () => {
  await withDatabase(async database => {
    const held = await database.pool.connect();
    const { signal } = new AbortController();
    const run = runBounded(database, { query: 'select 1', schema: 'warehouse', most: 1, signal });
    // After the time-out of the query, which began before.
    AbortSignal.timeout(11_100).addEventListener('abort', () => held.release());
    await expect(run).rejects.toMatchObject({ kind: 'database', message: expect.stringContaining('busy') as string });
    await expect(
      runBounded(database, { query: 'select 1', schema: 'warehouse', most: 1, signal }),
    ).resolves.toMatchObject({ rows: [['1']] });
  });
});
