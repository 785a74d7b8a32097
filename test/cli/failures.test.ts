import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { acquireSourceLock } from '../../src/warehouse/database/source-lock.ts';
import { MAIN } from '../support/resources.ts';
import { begin, KEY, run, until, useBuild, withInstallation } from './run-command.ts';

useBuild();

const SETTINGS = { SOURCE_URL: 'https://books.example.com', SOURCE_API_KEY: KEY };

test('wrong usage exits with 2 and says what is allowed, before anything starts', async () => {
  const cases: [string[], string][] = [
    [['sync', 'invoice'], 'Resources: customers, financial_summaries, invoices, '],
    [['sync', '--fast'], '--accept-deletes'],
    [['snyc'], 'Commands: '],
    [['--no-color', 'status'], 'Options follow the command, as in: sluice status --json. See: sluice --help'],
    [['backfill', 'customers', '--from', '2025-01-01'], 'invoices, transactions'],
    [['sql', '-- All.\nselect 1'], 'Put -- before the query: sluice sql -- '],
  ];
  const ended = await Promise.all(cases.map(([args]) => run(args, { env: SETTINGS })));
  for (const [index, { code, stdout, stderr }] of ended.entries()) {
    const [args, named] = cases[index] as [string[], string];
    expect([args, code, stdout]).toEqual([args, 2, '']);
    expect(stderr).toContain(named);
  }
  const json = await run(['backfill', 'invoices', '--to', 'now', '--json'], { env: SETTINGS });
  expect(json.json().error).toMatchObject({ kind: 'usage', message: '--to now is not a valid date.' });
});

test('a confirmation for one source is not applied to several', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'sluice-sources-'));
  const source = (name: string) => ({ name, url: `https://${name}.example.com`, api_key_from: 'BOTH_KEY' });
  writeFileSync(join(cwd, 'sources.json'), JSON.stringify([source('vienna'), source('graz')]));
  const nobody = `postgres://127.0.0.1:${await freePort()}/warehouse`;
  const sync = (...args: string[]) =>
    run(['sync', 'invoices', ...args], { env: { BOTH_KEY: 'key', DATABASE_URL: nobody }, cwd });
  for (const flag of ['--accept-deletes 90', '--moved']) {
    const { code, stderr } = await sync(...flag.split(' '));
    expect([code, stderr]).toEqual([
      2,
      `${flag} applies to one source, and there are 2.\nSources: vienna, graz. Name one, as in: sluice sync invoices ${flag} --source vienna\n`,
    ]);
    // It gets as far as the database, which does not exist.
    expect((await sync(...flag.split(' '), '--source', 'graz')).code).toBe(1);
  }
  const unasked = await run(['reset', 'invoices', '--source', 'graz'], { env: { BOTH_KEY: 'key' }, cwd });
  expect([unasked.code, unasked.stderr]).toEqual([
    2,
    expect.stringContaining(': sluice reset invoices --source graz --yes\n'),
  ]);
  rmSync(cwd, { recursive: true });
});

test('wrong settings exit with 2 and a wrong key with 1, each with one JSON document', async () => {
  const wrong = await run(['sync', '--json'], { env: { SOURCE_URL: 'http://books.example.com', SOURCE_API_KEY: KEY } });
  expect([wrong.code, wrong.json().error.kind]).toEqual([2, 'configuration']);
  const absent = await run(['sync']);
  expect([absent.code, absent.stderr]).toEqual([
    2,
    expect.stringMatching(/SOURCE_URL is not set.*\n.*SOURCE_API_KEY is not set/),
  ]);

  await withInstallation({ apiKey: 'another' }, async ({ sluice }) => {
    const refused = await sluice('sync', '--json');
    expect([refused.code, refused.json().error.kind]).toEqual([1, 'unauthorized']);
    const doctor = await sluice('doctor');
    expect([doctor.code, doctor.stdout]).toEqual([
      1,
      expect.stringMatching(/^failed +key .*\n +Check SOURCE_API_KEY/m),
    ]);
  });
});

test('an impossible schedule is reported with its setting before anything starts', async () => {
  const nobody = await freePort();
  const env = { ...SETTINGS, DATABASE_URL: `postgres://127.0.0.1:${nobody}/warehouse` };
  for (const schedule of ['99 * * * *', '0 0 31 2 *']) {
    const { code, stderr } = await run(['start'], { env: { ...env, SCHEDULE_INVOICES: schedule } });
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining(`The schedule of invoices (source main) is "${schedule}".`),
    ]);
    expect(stderr).toContain('Correct SCHEDULE_INVOICES');
  }
  const fine = { ...env, SCHEDULE_INVOICES: '0 6 L * mon', SCHEDULE_CUSTOMERS: 'off' };
  expect(await run(['start'], { env: fine })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('connection refused') as string,
  });
});

test.skipIf(process.platform !== 'linux')(
  'a data folder that cannot be created is one clear message at once',
  async () => {
    const ended = await run(['sync'], { env: { ...SETTINGS, SLUICE_DATA_DIR: '/proc/nope' } });
    expect(ended).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        'The embedded Postgres needs /proc/nope, but no folder can be created there.\nSet SLUICE_DATA_DIR to a writable folder',
      ) as string,
    });
  },
);

test('an unreachable source or database is one clear message and exit code 1', async () => {
  const nobody = await freePort();
  const url = `postgres://sluice:pass-5e1f@127.0.0.1:${nobody}/warehouse`;
  const database = await run(['sync'], { env: { ...SETTINGS, DATABASE_URL: url } });
  expect([database.code, database.stderr]).toEqual([
    1,
    `The database at 127.0.0.1:${nobody}/warehouse: connection refused.\nCheck the host and port in DATABASE_URL, and that the server is running.\n`,
  ]);
  await withInstallation({}, async ({ env }) => {
    const doctor = await run(['doctor'], { env: { ...env, SOURCE_URL: `http://127.0.0.1:${nobody}` } });
    expect([doctor.code, doctor.stdout]).toEqual([1, expect.stringMatching(/^failed +source /m)]);
  });
});

test('--no-wait stops at the request limit with 75 and keeps what was read', async () => {
  await withInstallation({ size: { customers: 150, invoices: 200, transactions: 300 } }, async ({ env, database }) => {
    const stopped = await run(['sync', ...MAIN, '--no-wait', '--json'], { env: { ...env, SOURCE_RATE_LIMIT: '6' } });
    expect([stopped.code, stopped.json().error.kind]).toEqual([75, 'quota']);
    const { rows } = await database.query('select count(*)::int as rows from warehouse.customers');
    expect(rows[0]?.rows).toBeGreaterThan(0);
    // As if an hour had passed.
    await database.query('truncate sluice.requests, sluice.budgets');
    expect((await run(['sync', ...MAIN], { env })).code).toBe(0);
    const { rows: orders } = await database.query(
      "select count(*)::int as orders from sluice.orders where resource = 'transactions'",
    );
    expect(orders).toEqual([{ orders: 1 }]);
  });
});

test('webhooks register shows until when it waits for the request limit; with --no-wait it stops', async () => {
  await withInstallation({}, async ({ sandbox, env }) => {
    const limited = { env: { ...env, SOURCE_RATE_LIMIT: '1' } };
    const register = ['webhooks', 'register', '--url', 'https://sluice.example.com', '--again'];
    expect((await run(register, limited)).code).toBe(0);
    const stopped = await run([...register, '--no-wait', '--json'], limited);
    expect([stopped.code, stopped.json().error.kind]).toEqual([75, 'quota']);
    const waiting = begin(register, limited);
    await until(() => waiting.stderr().includes('webhooks register: waiting for the request limit until '));
    waiting.child.kill('SIGINT');
    expect((await waiting.ended).code).toBe(1);
    expect(sandbox.stats.total).toBe(1);
  });
});

test('a command follows another process that reads the source, and takes over when it stops', async () => {
  await withInstallation({}, async ({ sandbox, database, env }) => {
    const lock = await acquireSourceLock(database, 'main');
    const folder = mkdtempSync(join(tmpdir(), 'sluice-follow-'));
    const sync = begin(['sync', 'customers'], { env, cwd: folder });
    await until(() => sync.stderr().includes('Another process is reading this source'));
    expect(sandbox.stats.total).toBe(0);
    await lock?.release();
    expect((await sync.ended).code).toBe(0);
    expect(sandbox.stats.total).toBeGreaterThan(0);
    rmSync(folder, { recursive: true });
  });
});

function freePort(): Promise<number> {
  return new Promise(resolve => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
