import { expect, test } from 'vitest';
import customers from '../../../jobs/customers.ts';
import invoices from '../../../jobs/invoices.ts';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import { stampMs } from '../../../src/clock.ts';
import { valueText } from '../../../src/service/format.ts';
import { undoRuns } from '../../../src/service/orders/undo.ts';
import { changedFields, readStory, recordVerdict, whyMissing } from '../../../src/service/record/record-story.ts';
import { databaseNow } from '../../../src/warehouse/database/now.ts';
import { withDatabase } from '../../support/database.ts';
import { openEngine, serveOrders } from '../../support/source.ts';

const INVOICES = { source: 'main', schema: 'warehouse', name: 'invoices', job: invoices };
const CUSTOMERS = { source: 'main', schema: 'warehouse', name: 'customers', job: customers };

test('the story of a row tells what it is, when it was proven, and which run and request brought it', async () => {
  await withDatabase(async database => {
    const sandbox = await openSandbox({ rateLimit: 0 });
    const engine = await openEngine(database, sandbox);
    await serveOrders(engine, 'sync');
    const { rows } = await database.query<{ id: string; amount: string; items: number; run: string; proven: string }>(`
      select i.id, i.amount::text, (select count(*)::int from warehouse.invoice_items where invoice_id = i.id) as items,
        (select id from sluice.runs where resource = 'invoices') as run,
        (select max(proven_at) from sluice.coverage where resource = 'invoices' and slice like 'date %'
          and i.date between date_from and date_to) as proven
      from warehouse.invoices i order by id desc limit 1`);
    const row = rows[0] as (typeof rows)[0];
    const story = await readStory(database, INVOICES, `00${row.id}`);
    expect(story).toMatchObject({
      key: row.id,
      state: 'stored',
      provenAt: stampMs(row.proven),
      current: { row: { id: row.id, amount: row.amount }, arrival: { runId: row.run, kind: 'sync' } },
      missing: null,
      quarantined: null,
      ended: [],
    });
    expect(story.current?.arrival.purpose).toMatch(/^invoices /);
    expect(story.children.items).toHaveLength(row.items);
    expect(recordVerdict(story, await databaseNow(database)).text).toMatch(/^invoices \d+ equals the source as of/);
    await engine.close();
    await sandbox.close();
  });
});

test('a row that the source deleted, one that is missing, one in quarantine and one that never was', async () => {
  await withDatabase(async database => {
    const sandbox = await openSandbox({ rateLimit: 0 });
    const engine = await openEngine(database, sandbox);
    await serveOrders(engine, 'sync');
    const [gone, lost, bad] = [...sandbox.rows('customers')].map(({ id }) => String(id)) as [string, string, string];
    sandbox.remove('customers', Number(gone));
    await serveOrders(engine, 'sync', { whole: true });
    await database.query(
      `insert into sluice.missing (source, resource, key, slice, since, readings) values ('main', 'customers', $1, 'id ..', sluice.now(), 1)`,
      [lost],
    );
    await database.query(
      `insert into sluice.quarantine (source, resource, key, payload, reasons, slice, first_seen, last_seen)
       values ('main', 'customers', $1, '{"id": 1}', '{"email": "no text"}', 'id ..', sluice.now(), sluice.now())`,
      [bad],
    );
    const now = await databaseNow(database);
    const stories = [];
    for (const key of [gone, lost, bad, '999999']) stories.push(await readStory(database, CUSTOMERS, key));
    expect(stories.map(({ state }) => state)).toEqual(['deleted', 'missing', 'quarantined', 'unknown']);
    const [deleted, missing, quarantined, unknown] = stories as [
      (typeof stories)[0],
      (typeof stories)[0],
      (typeof stories)[0],
      (typeof stories)[0],
    ];
    expect(deleted.ended).toMatchObject([
      { endedBy: 'deleted', row: { id: gone }, runId: expect.any(String) as string },
    ]);
    expect(missing.missing).toMatchObject({
      slice: 'id ..',
      readings: 1,
      why: expect.stringMatching(/^It is deleted as soon/) as string,
    });
    expect(quarantined).toMatchObject({ quarantined: { reasons: { email: 'no text' } } });
    expect(quarantined.current).not.toBeNull();
    expect(stories.map(story => recordVerdict(story, now).text)).toEqual([
      `customers ${gone} was deleted at the source`,
      expect.stringMatching(/has been missing since \d+ seconds? ago$/),
      `customers ${bad} is in quarantine`,
      'customers 999999 is not known here',
    ]);
    expect(unknown.current).toBeNull();
    await expect(readStory(database, CUSTOMERS, 'x')).rejects.toMatchObject({ kind: 'usage' });
    await engine.close();
    await sandbox.close();
  });
});

test('a row that an undo restored equals nothing until it is read again, and its month is not complete', async () => {
  await withDatabase(async database => {
    const sandbox = await openSandbox({ size: { customers: 5, invoices: 3, transactions: 1 }, rateLimit: 0 });
    const engine = await openEngine(database, sandbox, { resources: ['customers'] });
    const verdict = async (id: unknown) => {
      const story = await readStory(database, CUSTOMERS, String(id));
      return recordVerdict(story, await databaseNow(database)).text;
    };
    const complete = async () =>
      (await database.query(`select complete from sluice.complete('-infinity', 'infinity')`)).rows;
    const [edited, other] = [...sandbox.rows('customers')].map(({ id }) => id);
    await serveOrders(engine, 'sync');
    sandbox.update('customers', edited as number, { phone: '1' });
    await serveOrders(engine, 'sync', { whole: true });
    expect(await verdict(edited)).toMatch(/equals the source as of/);
    expect(await complete()).toEqual([{ complete: true }]);

    const { rows } = await database.query<{ id: string }>('select id from sluice.runs where updated > 0');
    const [run = ''] = rows.map(({ id }) => id);
    const source = { name: 'main', schema: 'warehouse', jobs: new Map([['customers', customers]]) };
    await undoRuns(database, source, [run], { dryRun: false });
    expect(await verdict(edited)).toBe(`customers ${edited} was restored: run ${run} was undone`);
    expect(await verdict(other)).toMatch(/equals the source as of/);
    expect(await complete()).toEqual([{ complete: false }]);

    await serveOrders(engine, 'sync', { whole: true });
    expect(await verdict(edited)).toMatch(/equals the source as of/);
    expect(await complete()).toEqual([{ complete: true }]);
    await engine.close();
    await sandbox.close();
  });
});

test('why a missing row is kept', () => {
  const row = { key: '1', slice: 'whole', since: '2026-01-15 10:00:05+00', value: '7' };
  expect(whyMissing(row, 'address', null)).toMatch(/own address/);
  expect(whyMissing(row, 'value', 'customer_id')).toMatch(/customer_id 7/);
  expect(whyMissing(row, 'neighbours', null)).toMatch(/ids around it/);
  expect(whyMissing(row, 'cover', null)).toMatch(/every part/);
  expect(whyMissing({ ...row, half: true, readings: 1 }, 'cover', null)).toMatch(
    /3 readings must lack it; 1 reading did/,
  );
  expect(whyMissing({ ...row, unreadable: true }, 'cover', null)).toMatch(/cannot be read/);
});

test('the fields in which two versions differ, without those of our own work', () => {
  const before = { id: '1', amount: '10.00', notes: null, _extra: { a: 1 }, _synced_at: 'x', items: [{ line: '1' }] };
  const after = { id: '1', amount: '10.50', _extra: { a: 2 }, _synced_at: 'y', items: [{ line: '1' }] };
  expect(changedFields(before, after)).toEqual([
    { field: 'amount', before: '10.00', after: '10.50' },
    { field: '_extra', before: { a: 1 }, after: { a: 2 } },
  ]);
  expect([null, undefined, 'x', 1, { a: 1 }].map(each => valueText(each, ''))).toEqual(['', '', 'x', '1', '{"a":1}']);
});
