import { expect, test } from 'vitest';
import { differences } from '../support/compare.ts';
import { long } from '../support/long.ts';
import { begin, run, until, useBuild, withInstallation } from './run-command.ts';

useBuild();

test('a rewrite is told wherever Sluice reports, until it is accepted or undone', async () => {
  await withInstallation({}, async ({ sandbox, database, sluice, sync }) => {
    const amounts = async () => (await database.query('select sum(amount)::text as sum from warehouse.invoices')).rows;
    await sync('invoices');
    const before = await amounts();
    const rows = [...sandbox.rows('invoices')];
    for (const { id, amount } of rows) sandbox.update('invoices', id, { amount: `${Number(amount) * 100}` });

    const second = await sluice('sync', 'invoices');
    expect(second.code).toBe(1);
    const told = second.stderr.replaceAll(/\s+/g, ' ');
    expect(told).toContain(`invoices.amount was replaced in ${rows.length} of ${rows.length} rows.`);
    expect(told).toContain('They look like 100 times the value.');
    const run = /sluice undo (\d+)/.exec(told)?.[1] ?? '';

    const wrong = await sluice('accept', 'invoices.notes');
    expect([wrong.code, wrong.stderr]).toEqual([
      2,
      expect.stringMatching(/No rewrite of invoices\.notes is open\.\s+Open: invoices\.amount\./),
    ]);
    const noRun = await sluice('undo', 'all');
    expect([noRun.code, noRun.stderr]).toEqual([2, expect.stringContaining('"all" is not the number of a run.')]);

    const dry = await sluice('undo', run, '--dry-run');
    expect([dry.code, dry.stdout]).toEqual([
      0,
      expect.stringContaining(`invoices: ${rows.length} replaced rows and 0 deleted rows would be restored`),
    ]);
    const undone = await sluice('undo', run, '--json');
    expect(undone.json()).toMatchObject({
      runs: [run],
      lists: [{ resource: 'invoices', replaced: rows.length, changedSince: 0 }],
    });
    expect(await amounts()).toEqual(before);

    // The source is still wrong: what it shows is stored again, and told again.
    expect((await sluice('sync', 'invoices', '--full')).code).toBe(1);
    const accepted = await sluice('accept', 'invoices.amount');
    expect([accepted.code, accepted.stdout]).toEqual([0, expect.stringContaining('Accepted: invoices.amount.')]);
    const none = await sluice('accept', 'invoices.amount');
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('Nothing waits to be accepted.')]);
    expect((await sluice('sync', 'invoices', '--full')).code).toBe(0);
  });
});

test('a limit of rewrites for a column lets people replace it, and a column that is not there is refused', async () => {
  await withInstallation({}, async ({ sandbox, env, sync }) => {
    const limited = (limit: string, ...args: string[]) => run(args, { env: { ...env, REWRITE_LIMIT_INVOICES: limit } });
    await sync('invoices');
    for (const { id } of [...sandbox.rows('invoices')]) sandbox.update('invoices', id, { amount: '1.00' });
    expect((await limited('amount:100', 'sync', 'invoices')).code).toBe(0);
    const unknown = await limited('amonut:100', 'status');
    expect([unknown.code, unknown.stderr]).toEqual([
      2,
      expect.stringMatching(/REWRITE_LIMIT_INVOICES .* names "amonut".*Expected: .*amount/s),
    ]);
    const malformed = await limited('amount', 'status');
    expect([malformed.code, malformed.stderr]).toEqual([
      2,
      expect.stringContaining('REWRITE_LIMIT_INVOICES is "amount"; expected columns with a percentage'),
    ]);
  });
});

long('only an undo that replaced rows can be taken back', async () => {
  await withInstallation({}, async ({ sandbox, database, sluice, sync }) => {
    await sync('invoices');
    const [first, ...others] = sandbox.rows('invoices');
    for (const { id } of others.slice(0, 3)) sandbox.remove('invoices', id);
    const lastRun = async (what: string) =>
      (await database.query<{ id: string }>(`select max(id) as id from sluice.runs where ${what} > 0`)).rows[0]?.id ??
      '';
    while ((await lastRun('deleted')) === '') await sync('invoices');
    const ofDeleted = await sluice('undo', await lastRun('deleted'));
    expect([ofDeleted.code, ofDeleted.stdout]).toEqual([0, expect.stringContaining('3 deleted rows restored')]);
    expect(ofDeleted.stdout).not.toContain('To take this back');

    sandbox.update('invoices', first?.id ?? 0, { notes: 'new' });
    while ((await lastRun('updated')) === '') await sync('invoices');
    const ofReplaced = await sluice('undo', await lastRun('updated'));
    const [, again = ''] = /^To take this back: sluice undo (\d+)$/m.exec(ofReplaced.stdout) ?? [];
    expect((await sluice('undo', again)).code).toBe(0);
  });
});

long.each([
  { name: 'sync', args: ['sync', 'invoices', '--full'] },
  { name: 'backfill', args: ['backfill', 'invoices'] },
  { name: 'verify', args: ['verify', 'invoices', '--repair'] },
])('a $name under way begins again after an undo, and ends as if alone', async ({ args }) => {
  await withInstallation({ latencyMs: 200 }, async ({ sandbox, database, env, sluice, sync }) => {
    await sync('invoices');
    const [edited] = sandbox.rows('invoices');
    sandbox.update('invoices', edited?.id ?? 0, { notes: 'wrong' });
    expect((await sluice('sync', 'invoices', '--full')).code).toBe(0);
    const { rows } = await database.query<{ id: string }>('select max(id) as id from sluice.runs where updated > 0');

    const before = sandbox.stats.total;
    const reading = begin(args, { env: { ...env, SOURCE_PAGE_SIZE: '20' } });
    await until(() => sandbox.stats.total >= before + 2);
    const undone = await sluice('undo', rows[0]?.id ?? '');
    expect([undone.code, reading.child.exitCode]).toEqual([0, null]);
    const { code, stderr } = await reading.ended;
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('nother process')]);
    expect(await differences(database, sandbox, 8, ['invoices'])).toEqual([]);
    const { rows: orders } = await database.query('select distinct state from sluice.orders');
    expect(orders).toEqual([{ state: 'done' }]);
  });
});
