import { expect, test } from 'vitest';
import { openSandbox } from '../../sandbox/sandbox.ts';
import { recordSlot } from '../../src/warehouse/ledgers/slots.ts';
import { differences } from '../support/compare.ts';
import { createTestDatabase } from '../support/database.ts';
import { long } from '../support/long.ts';
import { MAIN } from '../support/resources.ts';
import { KEY, run, useBuild, withInstallation } from './run-command.ts';

useBuild();

/** Where how many rows there are is not the subject. */
const FEW = { customers: 40, invoices: 60, transactions: 80 };

test('sync reads everything, and the next sync finds nothing to write', async () => {
  await withInstallation({}, async ({ sandbox, database, sluice }) => {
    const first = await sluice('sync');
    expect(first.code).toBe(0);
    expect(first.stdout).toMatch(/^invoices +600 +0 /m);
    expect(first.stderr).toContain('invoices: done');
    expect(await differences(database, sandbox)).toEqual([]);

    const second = await sluice('sync', 'invoices', '--json');
    expect(second.code).toBe(0);
    expect(second.json().resources).toMatchObject([
      { resource: 'invoices', state: 'done', new: 0, changed: 0, deleted: 0 },
    ]);
  });
});

test('verify reports differences and exits with 1; --repair makes the warehouse equal', async () => {
  await withInstallation({ size: FEW }, async ({ sandbox, database, sluice, sync }) => {
    const unread = await sluice('verify');
    expect([unread.code, unread.stdout]).toEqual([
      1,
      'Nothing was read yet, so there is nothing to compare. Next: sluice sync\n',
    ]);
    expect(sandbox.stats.total).toBe(0);
    await sync('customers');
    const half = await sluice('verify', 'customers', 'invoices');
    expect([half.code, half.stdout]).toEqual([
      1,
      expect.stringMatching(/^Not compared, because never read in full \(next: sluice sync\) or .*\n {2}invoices /m),
    ]);
    await sync(...MAIN);
    expect((await sluice('verify', ...MAIN, '--json')).json().equal).toBe(true);

    sandbox.insert('customers', { ...[...sandbox.rows('customers')][0], account: 'New' } as never);
    const { id } = sandbox.change('invoice-edited');
    const gone = sandbox.change('transaction-deleted').id;
    const report = await sluice('verify', ...MAIN);
    expect(report.code).toBe(1);
    expect(report.stdout).toMatch(/^customers +1 \(\d+\) +0 +0 /m);
    expect(report.stdout).toMatch(new RegExp(`^invoices +0 +1 \\(${id}\\) +0 `, 'm'));
    expect(report.stdout).toMatch(new RegExp(`^transactions +0 +0 +1 \\(${gone}\\)`, 'm'));
    expect(report.stdout).toContain('To make the warehouse equal: sluice verify --repair');

    expect((await sluice('verify', ...MAIN, '--repair')).code).toBe(0);
    expect(await differences(database, sandbox)).toEqual([]);
  });
});

test('sync of one resource shows no progress of others, although it serves their schedule beside a service', async () => {
  await withInstallation({}, async ({ database, test, sluice }) => {
    const service = await test.open('sluice start');
    await recordSlot(database.kysely, 'main', 'customers', new Date());
    const { code, stdout, stderr } = await sluice('sync', 'users');
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(
        /^The cost is not known yet .*\nusers: reading\nusers: done\n\d+ rows proven equal to the source\. Next: .*\n$/,
      ),
    ]);
    expect(stdout).not.toContain('customers');
    const { rows } = await database.query("select state from sluice.runs where resource = 'customers'");
    expect(rows).toEqual([{ state: 'done' }]);
    await service.close();
  });
});

test('requests of doctor before the first migration are not shown as those of other programs', async () => {
  const sandbox = await openSandbox({ apiKey: KEY });
  const empty = await createTestDatabase({ empty: true });
  const env = { SOURCE_URL: sandbox.url, SOURCE_API_KEY: KEY, DATABASE_URL: empty.url };
  expect((await run(['doctor'], { env })).code).toBe(0);
  expect((await run(['sync', 'users'], { env })).code).toBe(0);
  const requestsLine = async () =>
    (await run(['status'], { env })).stdout.split('\n').find(line => line.startsWith('Requests'));
  expect(await requestsLine()).toMatch(
    /^Requests +\d+ of 1,000 used in this window \(and 1 sent without this warehouse\), /,
  );
  const database = await empty.open();
  await database.query("update sluice.requests set granted_at = granted_at - interval '1 hour'");
  expect(await requestsLine()).toContain('(and 1 by other programs with this key)');
  await database.close();
  await sandbox.close();
  await empty.drop();
});

test('a row that comes back counts once as new', async () => {
  await withInstallation({ size: FEW }, async ({ sandbox, database, sluice, sync }) => {
    await sync('customers');
    const [customer] = sandbox.rows('customers');
    const id = customer?.id as number;
    sandbox.remove('customers', id);
    expect((await sluice('sync', 'customers', '--json')).json().resources).toMatchObject([{ deleted: 1 }]);
    sandbox.restore('customers', id);
    expect((await sluice('sync', 'customers', '--json')).json().resources).toMatchObject([{ new: 1, deleted: 0 }]);
    const { rows } = await database.query('select inserted, revived from sluice.runs order by id desc limit 1');
    expect(rows).toEqual([{ inserted: '1', revived: '1' }]);
  });
});

long(
  'a sync of which more than a tenth cannot be parsed fails, and a repair fails while records are in quarantine',
  async () => {
    await withInstallation({ faults: { 'rows-unreadable': 1 } }, async ({ sandbox, sluice }) => {
      for (const time of ['first', 'second']) {
        const sync = await sluice('sync', 'customers');
        expect([time, sync.code, sync.stderr]).toEqual([
          time,
          1,
          expect.stringMatching(
            /^customers failed: 30 of \d+ records that were read could not be parsed and are in quarantine\. See: sluice quarantine$/m,
          ),
        ]);
      }
      const repair = await sluice('verify', 'customers', '--repair', '--json');
      expect([repair.code, repair.json()]).toMatchObject([
        1,
        {
          resources: [{ quarantined: 30 }],
          error: { message: expect.stringContaining('30 records could not') as string },
        },
      ]);
      expect(sandbox.stats.total).toBeGreaterThan(0);
    });
  },
);

test('a record that is read several times counts once among those that were read', async () => {
  const size = { customers: 20, invoices: 30, transactions: 150 };
  const variants = { paging: 'no-meta', order: 'shuffled' } as const;
  await withInstallation({ size, variants, faults: { 'rows-unreadable': 1 } }, async ({ sluice }) => {
    const sync = await sluice('sync', 'transactions');
    expect(sync.code).toBe(1);
    expect(sync.stderr).toContain('transactions failed: 30 of 150 records that were read could not be parsed');
  });
});

long('verify names the records that cannot be read, also those without a readable id', async () => {
  await withInstallation({ faults: { 'rows-unreadable': 1 } }, async ({ sluice, sync }) => {
    await sync('customers');
    const { quarantinedKeys } = (await sluice('verify', 'customers', '--json')).json().resources[0];
    expect(quarantinedKeys).toHaveLength(30);
    const names = `customers ${quarantinedKeys.slice(0, 5).join(', ')} and 25 more`;
    expect((await sluice('verify', 'customers')).stdout).toContain(`See: sluice quarantine\n  ${names}\n`);
  });
  await withInstallation({ variants: { 'null-rows': 'yes' } }, async ({ sluice, sync }) => {
    await sync('customers');
    const report = await sluice('verify', 'customers');
    expect([report.code, report.stdout]).toEqual([1, expect.stringMatching(/^ {2}customers \?[0-9a-f]{8}\.\.$/m)]);
    const [, short] = /(\?[0-9a-f]{8})\.\./.exec(report.stdout) ?? [];
    expect((await sluice('quarantine')).stdout).toContain(short);
  });
});

long('verify counts quarantined records, and calls nothing equal while there are any', async () => {
  await withInstallation({ size: FEW }, async ({ sandbox, sluice, sync }) => {
    const [invoice] = sandbox.rows('invoices');
    sandbox.update('invoices', invoice?.id as number, { amount: 'a lot' });
    await sync(...MAIN);
    const report = await sluice('verify', 'invoices');
    expect(report.code).toBe(1);
    expect(report.stdout).toMatch(/^invoices +0 +0 +0 +1 +\d+$/m);
    expect(report.stdout).toContain('1 record could not be parsed and is not in the warehouse. See: sluice quarantine');
    expect(report.stdout).not.toMatch(/equals the source|--repair/);
    for (const line of report.stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(100);
    expect((await sluice('verify', 'invoices', 'transactions', '--json')).json()).toMatchObject({
      equal: false,
      resources: [{ resource: 'invoices', quarantined: 1, absent: [] }, { quarantined: 0 }],
    });
    const [, customer] = sandbox.rows('customers');
    sandbox.update('customers', customer?.id as number, { created_at: 'long ago' });
    expect((await sluice('verify', 'customers', '--json')).json()).toMatchObject({
      equal: false,
      resources: [{ quarantined: 1, absent: [], different: [], extra: [] }],
    });
    sandbox.update('customers', customer?.id as number, { created_at: '2024-01-01T00:00:00Z' });
    sandbox.update('invoices', invoice?.id as number, { amount: 12.5 });
    expect((await sluice('verify', ...MAIN, '--repair')).code).toBe(0);
    expect(await sluice('verify', 'invoices')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('The warehouse equals the source.') as string,
    });
  });
});
