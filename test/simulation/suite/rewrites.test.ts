import { expect, test } from 'vitest';
import type { BadDay } from '../../../sandbox/faults/bad-days.ts';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { DAY, SECOND } from '../../../src/clock.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';
import { planOf } from '../plan/plan.ts';
import { checkAnnouncements, recordReplacements, watchRewrites } from '../play/rewrites.ts';

const BAD_DAY: BadDay = { kind: 'masked', resource: 'invoices', field: 'notes' };
const PLAN = planOf(1, { putBack: false });

/** The problems found after the warehouse was changed by `act`. */
async function problemsAfter(
  act: (database: Database, pass: (ms: number) => Promise<void>) => Promise<unknown>,
): Promise<string[]> {
  const problems: string[] = [];
  const sandbox = await openSandbox({ size: { customers: 20, invoices: 100, transactions: 5 }, rateLimit: 0 });
  for (const { id } of sandbox.rows('invoices')) sandbox.update('invoices', id, { notes: `Note ${id}` });
  await withDatabase(async database => {
    const clock = await createVirtualClock(database);
    const engine = await openEngine(database, sandbox, { clock, limit: 100_000, resources: ['invoices'] });
    await serveOrders(engine, 'sync', { whole: true });
    await engine.close();
    await recordReplacements(database, ['invoices']);
    const check = await watchRewrites({ plan: PLAN, database, clock, problems }, BAD_DAY);
    await act(database, ms => clock.advance(ms));
    await check();
    await checkAnnouncements({ plan: PLAN, database, problems });
  });
  await sandbox.close();
  return problems;
}

const mask = (rows: number) => `update warehouse.invoices set notes = '***'
  where id in (select id from warehouse.invoices where notes <> '***' order by id limit ${rows})`;
const announce = (rows: number, state = 'failed') => `with run as (
    update sluice.runs set state = '${state}', reason = 'Rewritten' where id = (select max(id) from sluice.runs) returning id)
  insert into sluice.rewrites (source, resource, field, run_id, run_ids, since, at, rows, stored, examples)
  select 'main', 'invoices', 'notes', id, array[id::text], sluice.now() - interval '1 day', sluice.now(), ${rows}, 100, '[]' from run`;

test('replaced values that no run announces are a problem', async () => {
  expect(await problemsAfter(database => database.query(mask(40)))).toEqual([
    'on a bad day (masked), 40 of 100 invoices.notes were replaced, and no run announced it',
  ]);
});

test('so are lines of documents', async () => {
  // Several statements of one query share a transaction, as those of a commit do.
  const problems = await problemsAfter(database =>
    database.query(`create table public.lines as select * from warehouse.invoice_items;
      delete from warehouse.invoice_items;
      update public.lines set amount = 0;
      insert into warehouse.invoice_items select * from public.lines`),
  );
  expect(problems).toEqual([
    expect.stringMatching(/ 100 of 100 invoices\.items were replaced, and no run announced it/),
  ]);
});

test('lines that are stored again as they were are not replaced', async () => {
  const problems = await problemsAfter(database =>
    database.query(`create table public.lines as select * from warehouse.invoice_items;
      delete from warehouse.invoice_items;
      insert into warehouse.invoice_items select * from public.lines`),
  );
  expect(problems).toEqual([]);
});

test('what is announced is no problem, and neither is what few rows replace, or a day or more, or nothing', async () => {
  expect(
    await problemsAfter(async database => {
      await database.query(mask(40));
      await database.query(announce(40));
    }),
  ).toEqual([]);
  expect(await problemsAfter(database => database.query(mask(20)))).toEqual([]);
  expect(await problemsAfter(database => database.query("update warehouse.invoices set notes = ''"))).toEqual([]);
  expect(
    await problemsAfter(async (database, pass) => {
      await database.query(mask(40));
      await pass(DAY);
    }),
  ).toEqual([]);
});

test('what a migration erased afterwards need not be announced', async () => {
  const problems = await problemsAfter(async database => {
    await database.query(mask(40));
    await database.query(`set application_name = 'sluice migrate'; update warehouse.invoices set notes = null where notes = '***';
      reset application_name`);
  });
  expect(problems).toEqual([]);
});

test('an announcement of more than was replaced is a problem, and so is the same one twice', async () => {
  expect(await problemsAfter(database => database.query(announce(30)))).toEqual([
    'a run announced that 30 invoices.notes were replaced, and only 0 were',
  ]);
  expect(
    await problemsAfter(async (database, pass) => {
      await database.query(mask(40));
      await pass(SECOND);
      await database.query(announce(40));
      await pass(SECOND);
      await database.query(announce(40));
    }),
  ).toEqual(['a run announced that 40 invoices.notes were replaced, and only 0 were']);
});

test('a run that announces something must fail', async () => {
  expect(
    await problemsAfter(async database => {
      await database.query(mask(40));
      await database.query(announce(40, 'done'));
    }),
  ).toEqual(['a run announced that 40 invoices.notes were replaced, and ended as done']);
});
