import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { acquireSourceLock } from '../../src/warehouse/database/source-lock.ts';
import { differences } from '../support/compare.ts';
import { long } from '../support/long.ts';
import { MAIN } from '../support/resources.ts';
import { begin, run, until, useBuild, withInstallation } from './run-command.ts';

useBuild();

/** Few rows beside the 150 customers of a small source. */
const SIZE = { customers: 150, invoices: 30, transactions: 40 };

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'push-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const customersCsv = (count: number, wrong: readonly number[] = []): string =>
  `account,email\n${Array.from({ length: count }, (_, index) => `Pushed ${index},${wrong.includes(index) ? 'nobody' : `p${index}@example.com`}\n`).join('')}`;

test('a file with 7 invalid lines lists all 7 and sends nothing', async () => {
  await withInstallation({}, async ({ sandbox, sluice }) => {
    const wrong = [3, 10, 11, 99, 150, 151, 299];
    const bad = file('bad.csv', customersCsv(300, wrong));
    const refused = await sluice('push', 'customers', bad, '--yes');
    expect([refused.code, refused.stderr]).toEqual([1, '']);
    expect(refused.stdout).toContain('7 lines of 300 cannot be sent to customers, so nothing was sent.');
    const named = [...refused.stdout.matchAll(/^ {2}line (\d+): email must be an e-mail address/gm)];
    expect(named.map(match => Number(match[1]))).toEqual(wrong.map(index => index + 2));
    const { problems, error } = (await sluice('push', 'customers', bad, '--yes', '--json')).json();
    expect([problems.length, error.kind]).toEqual([7, 'failed']);
    expect(sandbox.stats.total).toBe(0);
  });
});

test('a dry run counts the requests and sends nothing; --yes creates each line once and reads it back; a second --yes sends nothing', async () => {
  await withInstallation({ size: SIZE }, async ({ sandbox, database, sluice, sync }) => {
    await sync(...MAIN);
    // Two equal lines are two customers.
    const lines = [
      ...Array.from({ length: 250 }, (_, index) => ({ account: `Pushed ${index}`, email: `p${index}@example.com` })),
      { account: 'Twin' },
      { account: 'Twin' },
      { account: 'With a phone', email: 'phone@example.com', phone: '+43 1 234' },
    ];
    const write = (more: object[]) =>
      file('new.ndjson', [...lines, ...more].map(line => JSON.stringify(line)).join('\n'));
    const path = write([]);
    const asked = sandbox.stats.total;
    const dry = await sluice('push', 'customers', path);
    expect([dry.code, dry.stderr]).toEqual([0, '']);
    expect(dry.stdout).toContain(
      '253 would be created at source main, with 4 requests (3 with up to 100 lines, 1 with one)',
    );
    expect(dry.stdout).toMatch(/^To send: sluice push customers \S+ --yes$/m);
    const small = await sluice('push', 'customers', path, '--batch', '10');
    expect(small.stdout).toMatch(/^To send: sluice push customers \S+ --yes --batch 10$/m);
    expect((await sluice('push', 'customers', path, '--batch', '1', '--json')).json()).toMatchObject({
      dryRun: true,
      requests: 253,
      batches: 0,
    });
    expect(sandbox.stats.total).toBe(asked);

    const sent = await sluice('push', 'customers', path, '--yes', '--json');
    expect(sent.json()).toEqual({
      source: 'main',
      resource: 'customers',
      file: 'new.ndjson',
      lines: 253,
      created: 253,
      inWarehouse: 253,
      requests: 4,
      refused: [],
      unknown: [],
      unseen: [],
    });
    expect(sent.code).toBe(0);
    const accounts = [...sandbox.rows('customers')].slice(150).map(row => row.account);
    expect([accounts.length, accounts.filter(account => account === 'Twin').length]).toEqual([253, 2]);
    expect(await differences(database, sandbox)).toEqual([]);

    const before = sandbox.stats.total;
    const again = await sluice('push', 'customers', path, '--yes');
    expect([again.code, again.stdout]).toEqual([
      0,
      expect.stringContaining('253 of 253 lines created; 0 requests sent'),
    ]);
    expect((await sluice('push', 'customers', path)).stdout).toMatch(
      /253 are already created.*\nNothing is left to send\.\n$/,
    );
    expect(sandbox.stats.total).toBe(before);

    // Of a changed file, only the new lines are sent.
    const more = await sluice('push', 'customers', write([{ account: 'Twin' }, { account: 'New' }]), '--yes', '--json');
    expect(more.json()).toMatchObject({ created: 255, requests: 1 });
    expect([...sandbox.rows('customers')].length).toBe(150 + 255);
  });
});

test('other resources are created one by one, and are in the warehouse if the API has a list of them', async () => {
  await withInstallation({ size: SIZE }, async ({ sandbox, database, sluice, sync }) => {
    await sync(...MAIN);
    const invoices = file(
      'invoices.csv',
      `customer_id,date,items,notes\n7,2024-02-29,"[{""description"":""Work"",""amount"":10.1,""qty"":3}]",pushed\n`,
    );
    expect((await sluice('push', 'invoices', invoices, '--yes', '--json')).json()).toMatchObject({
      created: 1,
      inWarehouse: 1,
    });
    const { rows } = await database.query(
      `select customer_id, date, notes, amount, (select qty from warehouse.invoice_items where invoice_id = id) as qty
       from warehouse.invoices where notes = 'pushed'`,
    );
    expect(rows).toMatchObject([{ customer_id: '7', date: '2024-02-29', qty: '3' }]);
    const transactions = file(
      't.csv',
      'type,account_id,amount,date\nIncome,1,0.10,2025-06-30\nExpense,2,99,2025-07-01\n',
    );
    expect((await sluice('push', 'transactions', transactions, '--yes', '--json')).json()).toMatchObject({
      created: 2,
      inWarehouse: 2,
    });
    expect(await differences(database, sandbox)).toEqual([]);

    const leads = file('leads.ndjson', '{"first_name":"Ann","last_name":"Lee","email":"ann@example.com"}\n');
    const pushed = await sluice('push', 'leads', leads, '--yes');
    expect([pushed.code, pushed.stdout]).toEqual([0, expect.stringContaining('no list of leads')]);
    expect((await sluice('push', 'leads', leads, '--yes', '--json')).json()).toMatchObject({ requests: 0, created: 1 });
    expect([...sandbox.rows('leads')].filter(row => row.email === 'ann@example.com')).toHaveLength(1);
  });
});

long('two pushes of one resource do not run at the same time; wrong usage is reported', async () => {
  await withInstallation({}, async ({ sandbox, database, env, sluice }) => {
    const path = file('one.csv', customersCsv(1));
    const lock = await acquireSourceLock(database, 'main, push of customers');
    const second = await sluice('push', 'customers', path, '--yes');
    expect([second.code, second.stderr]).toEqual([1, expect.stringContaining('Another process is pushing customers')]);
    await lock?.release();
    expect((await sluice('push', 'users', path)).stderr).toContain('Resources: customers, invoices, leads');
    expect((await sluice('push', 'customers', join(folder, 'gone.csv'))).code).toBe(2);
    expect((await sluice('push', 'customers', path, '--source', 'vienna')).code).toBe(2);
    expect(sandbox.stats.total).toBe(0);

    // The limit is used up after the first line; the same command continues later.
    const limited = { ...env, SOURCE_RATE_LIMIT: '1', SOURCE_RATE_WINDOW_SECONDS: '3600' };
    const two = file('two.ndjson', '{"first_name":"A","last_name":"B"}\n{"first_name":"C","last_name":"D"}\n');
    const stopped = await run(['push', 'leads', two, '--yes', '--no-wait'], { env: limited });
    expect([stopped.code, stopped.stderr]).toEqual([75, expect.stringContaining('1 of 2 lines created so far')]);
    // An hour later.
    await database.query('delete from sluice.requests; delete from sluice.budgets');
    expect((await sluice('push', 'leads', two, '--yes', '--json')).json()).toMatchObject({ created: 2, requests: 1 });
  });
});

test('a line that an answered batch does not report is not sent again before answers no longer lag (SOURCE_LAG_SECONDS)', async () => {
  await withInstallation({ variants: { batch: 'all' } }, async ({ sandbox, env: given, sync }) => {
    await sync('customers');
    const path = file('lag.csv', `${customersCsv(3)}Pushed wrongly,büro@müller.example\n`);
    const push = begin(['push', 'customers', path, '--yes'], { env: { ...given, SOURCE_LAG_SECONDS: '3600' } });
    await until(() => push.stderr().includes('until the source shows'));
    expect(push.stderr()).toMatch(/^customers: waiting (3600|35\d\d) s until the source shows what was sent$/m);
    expect(sandbox.stats.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
    push.child.kill('SIGKILL');
    await push.ended;
  });
});
