import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts';
import { begin, run, until, useBuild } from '../../cli/run-command.ts';
import { differences } from '../../support/compare.ts';
import { withDatabase } from '../../support/database.ts';
import { MAIN } from '../../support/resources.ts';
import { inSchema } from '../in-schema.ts';
import { doneSlots, RARELY, SOURCE } from './service-state.ts';

useBuild();
vi.setConfig({ testTimeout: 240_000 });

const SIZE = { customers: 100, invoices: 300, transactions: 300 };

test('with two sources, the wrong key of one does not affect the other', async () => {
  const vienna = await openSandbox({ ...SOURCE, size: SIZE, apiKey: 'key-vienna', rateLimit: 0 });
  const graz = await openSandbox({ ...SOURCE, size: SIZE, seed: 2, apiKey: 'key-graz', rateLimit: 0 });
  const cwd = mkdtempSync(join(tmpdir(), 'sluice-sources-'));
  const write = (name: string, url: string) => ({ name, url, api_key_from: `${name.toUpperCase()}_KEY` });
  writeFileSync(
    join(cwd, 'sources.json'),
    JSON.stringify([
      { ...write('vienna', vienna.url), rate_limit: 100_000, schedules: { transactions: 'off' } },
      { ...write('graz', graz.url), schema: 'graz_books' },
    ]),
  );
  await withDatabase(async (database, { url }) => {
    const env = { DATABASE_URL: url, VIENNA_KEY: 'key-vienna', GRAZ_KEY: 'wrong' };
    const service = begin(['start'], { env: { ...env, ...RARELY }, cwd });
    await until(async () => (await doneSlots(database)) === 2);
    const failed = `select count(*)::int as n from sluice.runs where source = 'graz' and state = 'failed'`;
    await until(async () => (await database.query<{ n: number }>(failed)).rows[0]?.n !== 0);
    service.child.kill('SIGTERM');
    expect((await service.ended).code).toBe(0);
    const { rows } = await database.query<{ slot: string }>(
      "select distinct source || ' ' || resource as slot from sluice.slots order by 1",
    );
    expect(rows.map(row => row.slot)).toEqual([
      'graz customers',
      'graz invoices',
      'graz transactions',
      'vienna customers',
      'vienna invoices',
    ]);
    const off = await differences(inSchema(database, 'vienna'), vienna, Number.POSITIVE_INFINITY);
    expect(off.filter(text => !text.startsWith('transactions'))).toEqual([]);

    const sync = await run(['sync', ...MAIN, '--json'], { env, cwd });
    expect(sync.code).toBe(1);
    expect(sync.json().error).toMatchObject({ kind: 'unauthorized', message: expect.stringMatching(/^graz: /) });
    expect(sync.json().resources).toMatchObject([
      { source: 'vienna', resource: 'customers', state: 'done' },
      { source: 'vienna', resource: 'invoices', state: 'done' },
      { source: 'vienna', resource: 'transactions', state: 'done' },
    ]);
    expect(await differences(inSchema(database, 'vienna'), vienna)).toEqual([]);

    const right = { ...env, GRAZ_KEY: 'key-graz' };
    const own = { DATABASE_URL: url, GRAZ_KEY: 'key-graz' };
    expect((await run(['sync', ...MAIN, '--source', 'graz'], { env: own, cwd })).code).toBe(0);
    expect(await differences(inSchema(database, 'graz_books'), graz)).toEqual([]);
    const status = (await run(['status', '--json'], { env: right, cwd })).json();
    expect(status.sources).toMatchObject([{ source: 'vienna' }, { source: 'graz', schema: 'graz_books' }]);

    const which = await run(['backfill', 'invoices', '--detach'], { env: right, cwd });
    expect([which.code, which.stderr]).toEqual([
      2,
      'This command works on one source, and there are several.\nName one with --source: vienna, graz.\n',
    ]);
    const none = await run(['status', '--source', 'linz'], { env: right, cwd });
    expect([none.code, none.stderr]).toEqual([2, 'Unknown source "linz".\nSources: vienna, graz.\n']);
  });
  await vienna.close();
  await graz.close();
  rmSync(cwd, { recursive: true });
});

test('the sources.json of docs/several-sources.md works as written', async () => {
  const document = readFileSync(new URL('../../../docs/several-sources.md', import.meta.url), 'utf8');
  const example = /```json\n(\[[\s\S]*?\])\n```/.exec(document)?.[1] ?? '';
  const sandboxes = [
    await openSandbox({ ...SOURCE, size: SIZE, rateLimit: 0 }),
    await openSandbox({ ...SOURCE, size: SIZE, seed: 2, rateLimit: 0 }),
  ];
  const [vienna, graz] = sandboxes.map(sandbox => sandbox.url) as [string, string];
  const cwd = mkdtempSync(join(tmpdir(), 'sluice-readme-'));
  const written = example.replace('https://vienna.example.com', vienna).replace('https://graz.example.com', graz);
  writeFileSync(join(cwd, 'sources.json'), written);
  await withDatabase(async (database, { url }) => {
    const env = { DATABASE_URL: url, VIENNA_KEY: 'sandbox-key', GRAZ_KEY: 'sandbox-key' };
    const sync = await run(['sync', ...MAIN], { env, cwd });
    expect([sync.code, sync.stdout]).toEqual([0, expect.stringMatching(/^graz invoices +300 /m)]);
    for (const [index, schema] of ['vienna', 'graz'].entries())
      expect(await differences(inSchema(database, schema), sandboxes[index] as Sandbox)).toEqual([]);
    // One key, one ledger: the smaller limit of the two holds for both.
    const { rows } = await database.query('select rate_limit from sluice.budgets');
    expect(rows).toEqual([{ rate_limit: 500 }]);
    const status = await run(['status', '--source', 'graz'], { env, cwd });
    expect([status.code, status.stdout]).toEqual([0, expect.stringMatching(/^invoices +300 /m)]);
    const sql = await run(['sql', '--source', 'graz', '--json', 'select count(*) from invoices'], { env, cwd });
    expect(sql.json()).toEqual([{ count: 300 }]);
  });
  for (const sandbox of sandboxes) await sandbox.close();
  rmSync(cwd, { recursive: true });
});
