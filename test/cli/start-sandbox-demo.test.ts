import { rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { RARELY } from '../processes/service/service-state.ts';
import { differences } from '../support/compare.ts';
import { makeServerFolder } from '../support/postgres.ts';
import { begin, run, until, useBuild, withInstallation } from './run-command.ts';

useBuild();

test('start reads every resource on its schedule and completes orders; SIGTERM ends it with 0', async () => {
  await withInstallation({}, async ({ sandbox, database, env, sluice }) => {
    // No tick of the schedule comes between.
    const service = begin(['start'], { env: { ...env, ...RARELY } });
    const done = async (kind: string) => {
      const { rows } = await database.query<{ n: number }>(
        "select count(*)::int as n from sluice.runs where state = 'done' and kind = $1",
        [kind],
      );
      return rows[0]?.n ?? 0;
    };
    await until(async () => (await done('slot')) === 3);
    expect((await sluice('status', '--json')).json().service).toBe(true);
    expect((await sluice('backfill', 'customers', '--detach', '--json')).json().service).toBe(true);
    await until(async () => (await done('backfill')) === 1);
    service.child.kill('SIGTERM');
    const { code, stderr } = await service.ended;
    expect(code).toBe(0);
    const lines = stderr
      .trim()
      .split('\n')
      .map(line => JSON.parse(line));
    expect(lines).toContainEqual(expect.objectContaining({ resource: 'customers', kind: 'slot', inserted: 150 }));
    expect(await differences(database, sandbox)).toEqual([]);
  });
});

test('sandbox answers until it is stopped', async () => {
  const server = begin(['sandbox', '--json', '--seed', '3', '--variant', 'order=id-asc']);
  await until(() => server.stdout().includes('}'));
  const { url, apiKey } = JSON.parse(server.stdout());
  const answer = await fetch(`${url}/api/v2/customers?limit=1`, { headers: { authorization: `Bearer ${apiKey}` } });
  expect(await answer.json()).toMatchObject({ success: true });
  server.child.kill('SIGINT');
  expect((await server.ended).code).toBe(0);
});

test('demo needs no settings and shows equal tables, and stop-db stops its server', async () => {
  const cwd = await makeServerFolder();
  try {
    const { code, stdout, stderr } = await run(['demo'], { cwd });
    expect([code, stderr]).toEqual([0, expect.stringContaining('invoices: done')]);
    expect(stdout).toContain('every row is equal');
    expect(stdout).toMatch(/warehouse\.invoices.*\n {2}psql "postgres:\/\/.*\/sluice_demo"/);
    for (const line of stdout.split('\n')) if (!line.includes('psql')) expect(line.length).toBeLessThanOrEqual(110);

    const status = await run(['status', '--json'], { cwd });
    expect(status.json().database).toMatch(/^postgres:\/\/sluice_reader:.+@127\.0\.0\.1:\d+\/sluice$/);
  } finally {
    expect((await run(['stop-db'], { cwd })).stdout).toContain('has stopped');
    expect((await run(['stop-db', '--json'], { cwd })).json()).toEqual({ stopped: false });
    rmSync(cwd, { recursive: true, force: true });
  }
});
