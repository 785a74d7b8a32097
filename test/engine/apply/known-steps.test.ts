import { expect, test } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { commit } from '../../../src/engine/apply/commit.ts';
import type { Step } from '../../../src/engine/read/step.ts';
import type { Resource } from '../../../src/engine/resource.ts';
import { createTask } from '../../../src/engine/task/task.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { startRun } from '../../../src/warehouse/ledgers/runs.ts';
import { readAnswers } from '../../../src/warehouse/rows/write/known-answers.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

const PLACE = { source: 'main', resource: 'customers' };
const ANY = { query: 'by=hand', from: 0, to: 1e6, most: 10 };

interface Given {
  readonly database: Database;
  /** Customer 1 as an answer of this second shows it. */
  readonly shows: (second: number, city: string) => Step['rows'];
  readonly stepOf: (rows: Step['rows'], more?: Partial<Step>) => Step;
  readonly commitAll: (steps: readonly Step[], rowByRow?: boolean) => Promise<unknown>;
  readonly city: () => Promise<unknown>;
}

async function withCustomers(work: (given: Given) => Promise<void>): Promise<void> {
  await withDatabase(async database => {
    const sandbox = await openSandbox({ size: { customers: 3, invoices: 3, transactions: 3 } });
    const engine = await openEngine(database, sandbox, { resources: ['customers'] });
    await serveOrders(engine, 'sync');
    const [resource] = engine.resources as [Resource];
    const runId = await startRun(database.kysely, { ...PLACE, kind: 'sync', orderId: null, slotAt: null });
    const task = createTask({ kind: 'sync', resource, runId, orderId: null, since: 0, lane: 'live' });
    const begun = Date.now();
    await work({
      database,
      shows(second, city) {
        const parsed = resource.parse({ id: 1, account: 'a', city }, new Date(begun + second * 1000).toISOString());
        return 'row' in parsed ? [parsed.row] : [];
      },
      stepOf: (rows, more = {}) => ({
        ...{ resource, task, slice: { by: 'newest' }, rows, bad: [], requests: 1, release: () => undefined },
        ...more,
      }),
      commitAll: (steps, rowByRow = false) => commit(engine, steps, { rowByRow }),
      async city() {
        const { rows } = await database.query('select city from warehouse.customers where id = 1');
        return rows[0]?.city;
      },
    });
    await engine.close();
    await sandbox.close();
  });
}

const keep = { query: 'by=hand', page: 1, limit: 1, digest: 'first', fields: '', keys: ['1'] };

test('an answer that came before is newer than an older one in the same commit that shows one of its rows', async () => {
  await withCustomers(async ({ database, shows, stepOf, commitAll, city }) => {
    await commitAll([stepOf(shows(0, 'new'), { keep })]);
    const [known] = await readAnswers(database.kysely, PLACE, ANY);
    const instead = () => ({ rows: shows(4, 'new'), bad: [] });
    const again = stepOf([], { known: { keys: ['1'], checksum: known?.checksum as string, instead } });
    await commitAll([stepOf(shows(3, 'old')), again]);
    expect(await city()).toBe('new');
  });
});

test.each([false, true])(
  'of two answers in one commit that show a row differently, only what is stored at last may be known (row by row: %s)',
  async rowByRow => {
    await withCustomers(async ({ database, shows, stepOf, commitAll, city }) => {
      await commitAll([stepOf(shows(0, 'old'), { keep }), stepOf(shows(1, 'new'))], rowByRow);
      expect([await city(), await readAnswers(database.kysely, PLACE, ANY)]).toEqual(['new', []]);
    });
  },
);
