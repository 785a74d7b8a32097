import { expect, test } from 'vitest';
import { parseVariants } from '../../../src/sandbox/parse/parse-variants.ts';
import { openSandbox } from '../../../src/sandbox/sandbox.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

const SIZE = { customers: 20, invoices: 150, transactions: 600 };

test.each([
  'date-bounds=rejected',
  'date-bounds=wrapped',
  'date-bounds=rejected,date-filter=pair-only',
  'date-bounds=wrapped,date-filter=pair-only',
  'date-bounds=wrapped,date-filter=pair-only,invoice-fields=bare',
])('%s: windows that are open on one side ask for no date that the source cannot hold', async text => {
  // Pages of 20 cut the lists into windows that are open on one side.
  const sandbox = await openSandbox({
    size: SIZE,
    rateLimit: 0,
    variants: parseVariants(`limit-max=20-reject,${text}`),
  });
  await withDatabase(async database => {
    const engine = await openEngine(database, sandbox, { limit: 100_000 });
    const sync = async () => (await serveOrders(engine, 'sync')).map(({ state, reason }) => reason ?? state);
    expect(await sync()).toEqual(['done', 'done', 'done']);
    sandbox.changeRandom(30);
    expect(await sync()).toEqual(['done', 'done', 'done']);
    expect(await differences(database, sandbox)).toEqual([]);
    await engine.close();
  });
  await sandbox.close();
});
