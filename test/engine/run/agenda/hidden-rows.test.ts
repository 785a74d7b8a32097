import { expect, test } from 'vitest';
import { openSandbox } from '../../../../sandbox/sandbox.ts';
import { MINUTE } from '../../../../src/clock.ts';
import { differences } from '../../../support/compare.ts';
import { withDatabase } from '../../../support/database.ts';
import { some } from '../../../support/long.ts';
import { openEngine, serveTick } from '../../../support/source.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';

const HIDDEN = [
  { undated: 'yes' },
  { undated: 'yes', order: 'shuffled' },
  { drafts: 'hidden' },
  { drafts: 'hidden', order: 'shuffled' },
] as const;

test.each(some(HIDDEN, 2))('a service without any sync finds rows that lie in no window: %j', async variants => {
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const sandbox = await openSandbox({
      size: { customers: 20, invoices: 120, transactions: 300 },
      clock,
      variants,
    });
    const engine = await openEngine(database, sandbox, { clock, pageSize: 20 });
    for (let ticks = 0; ticks < 2; ticks++) {
      await serveTick(engine);
      await clock.advance(15 * MINUTE);
    }
    expect(await differences(database, sandbox)).toEqual([]);
    await engine.close();
    await sandbox.close();
  });
});
