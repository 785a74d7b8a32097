import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openSandbox } from '../../../sandbox/sandbox.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { freshness } from '../../../src/warehouse/ledgers/incidents.ts';
import { recordSlot } from '../../../src/warehouse/ledgers/slots.ts';
import { begin, KEY, run, until, useBuild } from '../../cli/run-command.ts';
import { withDatabase } from '../../support/database.ts';
import { MAIN } from '../../support/resources.ts';
import { RARELY, waitingRuns } from './service-state.ts';

useBuild();
vi.setConfig({ testTimeout: 240_000 });

const NAMES = ['vienna', 'graz'];

test('with one key for two sources, a list that was partly read is never done or fresh: start, start with a newer tick, SIGTERM, sync of another list', async () => {
  const sandbox = await openSandbox({
    ...{ size: { customers: 20, invoices: 40, transactions: 3000 }, apiKey: KEY, rateLimit: 0, today: '2026-03-15' },
    latencyMs: 250,
    variants: { 'limit-max': '20-reject' },
  });
  const cwd = mkdtempSync(join(tmpdir(), 'sluice-key-'));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  // A hundredth of 2000 and 500: the lower one applies to both.
  const entry = (name: string, rate_limit: number) => ({
    name,
    url: sandbox.url,
    api_key_from: 'SHARED_KEY',
    rate_limit,
  });
  writeFileSync(join(cwd, 'sources.json'), JSON.stringify([entry('vienna', 160), entry('graz', 40)]));
  await withDatabase(async (database, { url }) => {
    const env = { DATABASE_URL: url, SHARED_KEY: KEY, ...RARELY };
    const first = begin(['start'], { env, cwd });
    await until(async () => (await waitingRuns(database)) > 0);
    first.child.kill('SIGKILL');
    await first.ended;
    await expectHonest(database);

    await freeRequests(database);
    const before = sandbox.stats.total;
    const second = begin(['start'], { env, cwd });
    await until(() => sandbox.stats.total >= before + 10);
    await recordSlot(database.kysely, 'vienna', 'transactions', new Date());
    await until(async () => {
      await freeRequests(database);
      return await hasEndedRun(database);
    });
    second.child.kill('SIGTERM');
    expect((await second.ended).code).toBe(0);
    await expectHonest(database);

    await freeRequests(database);
    const sync = await run(['sync', 'users', '--source', 'vienna', '--json'], { env, cwd });
    expect([sync.code, sync.json().resources]).toMatchObject([0, [{ resource: 'users', state: 'done' }]]);
    await expectHonest(database);
    const partlyRead = await partlyReadLists(database);
    expect(partlyRead).toContainEqual({ source: 'vienna', resource: 'transactions' });
    const status = await run(['status', '--source', 'vienna'], { env, cwd });
    expect(status.stdout).toMatch(/^transactions +\d+ .* \d+ parts unread /m);
  });
  await sandbox.close();
});

/** The run that the newer tick overtook has ended. */
async function hasEndedRun(database: Database): Promise<boolean> {
  const { rows } = await database.query(
    `select from sluice.runs where source = 'vienna' and resource = 'transactions' and reason like '%a newer tick took over%'`,
  );
  return rows.length > 0;
}

/** An hour passes for the requests so far. */
async function freeRequests(database: Database): Promise<void> {
  // Without the lock, the services settle requests in another order, and one of us would be stopped.
  await database.query(
    `do $$ begin
      lock table sluice.requests in share row exclusive mode;
      update sluice.requests set granted_at = granted_at - interval '1 hour',
        counts_until = counts_until - interval '1 hour', settled_at = settled_at - interval '1 hour';
    end $$`,
  );
  await database.query('update sluice.runs set waiting_until = sluice.now() where waiting_until is not null');
}

async function partlyReadLists(database: Database): Promise<{ source: string; resource: string }[]> {
  const { rows } = await database.query<{ source: string; resource: string }>(
    `select distinct source, resource from sluice.coverage where proven_at is null
      and (slice like 'date %' or slice like 'id %' or slice = 'whole') order by 1, 2`,
  );
  return rows;
}

/** No run of a list of which parts were never read is done, and none of these lists is fresh. */
async function expectHonest(database: Database): Promise<void> {
  const partlyRead = await partlyReadLists(database);
  const { rows: done } = await database.query<{ source: string; resource: string }>(
    "select source, resource from sluice.runs where state = 'done'",
  );
  for (const list of partlyRead) expect(done).not.toContainEqual(list);
  for (const source of NAMES)
    for (const { resource, ageSeconds } of await freshness(database.kysely, source, MAIN))
      if (partlyRead.some(list => list.source === source && list.resource === resource)) expect(ageSeconds).toBeNull();
}
