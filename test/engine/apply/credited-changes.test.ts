import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { commit } from '../../../src/engine/apply/commit.ts';
import type { Step } from '../../../src/engine/read/step.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

test('rows that come back for two runs in one commit count as new for the run that read each of them, once', async () => {
  await withDatabase(async database => {
    const sandbox = await openSandbox({ size: { customers: 60, invoices: 0, transactions: 0 }, rateLimit: 0 });
    const steps: Step[] = [];
    const engine = await openEngine(database, sandbox, {
      resources: ['customers'],
      onEvent: event => void (event.kind === 'committed' && steps.push(event.step)),
    });
    await serveOrders(engine, 'sync');
    const first = steps.at(-1) as Step;
    const stored = steps.flatMap(({ rows }) => rows).slice(0, 3);
    for (const { key } of stored) sandbox.remove('customers', Number(key));
    await serveOrders(engine, 'sync');
    const second = steps.at(-1) as Step;

    const readAt = new Date().toISOString();
    const [one, ...others] = stored.map(row => ({ ...row, readAt }));
    const end = { kind: 'targeted', complete: false, startedAt: readAt } as const;
    await commit(
      engine,
      [
        { ...first, rows: one ? [one] : [], end },
        { ...second, rows: others, end },
      ],
      { rowByRow: false },
    );

    const { rows } = await database.query(
      'select inserted::int, revived::int, deleted::int from sluice.runs order by id',
    );
    expect(rows).toEqual([
      { inserted: 61, revived: 1, deleted: 0 },
      { inserted: 2, revived: 2, deleted: 3 },
    ]);
    await engine.close();
    await sandbox.close();
  });
});
