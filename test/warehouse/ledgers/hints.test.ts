import { expect, test } from 'vitest';
import { HOUR } from '../../../src/clock.ts';
import { dueHints, leaveHints } from '../../../src/warehouse/ledgers/hints.ts';
import { withDatabase } from '../../support/database.ts';

test('requests spent on hints while the database clock was hours ahead do not delay later hints', async () => {
  await withDatabase(async database => {
    await leaveHints(database.kysely, [{ source: 'main', resource: 'invoices', slice: 'newest' }]);
    const due = () => dueHints(database.kysely, 'main', { limit: 1000, windowMs: HOUR });
    expect(await due()).toEqual(['invoices']);
    const spentAt = (at: string) =>
      database.query(
        `insert into sluice.runs (source, resource, kind, state, started_at, ended_at, requests)
         values ('main', 'invoices', 'hint', 'done', sluice.now() + $1, sluice.now() + $1, 25)`,
        [at],
      );
    await spentAt('5 hours');
    expect(await due()).toEqual(['invoices']);
    await spentAt('-1 minute');
    expect(await due()).toEqual([]);
  });
});
