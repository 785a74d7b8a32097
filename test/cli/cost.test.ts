import { expect, test } from 'vitest';
import { estimateText, summariseWork } from '../../src/cli/run/estimate-work.ts';
import { HOUR, MINUTE } from '../../src/clock.ts';
import { differences } from '../support/compare.ts';
import { long } from '../support/long.ts';
import { MAIN } from '../support/resources.ts';
import { run, useBuild, withInstallation } from './run-command.ts';

useBuild();

const NOW = Date.parse('2026-01-15T10:00:00Z');
const FACTS = { hourly: 1000, free: 100, limit: 1000, windowMs: HOUR, nextFreeAt: null };
const of = (requests: number, neverRead = 0) => [{ resource: 'invoices', requests, neverRead }];

test('what a command will cost follows from what is known and from what is left of the limit', () => {
  expect(summariseWork('main', of(80), FACTS, false, NOW)).toMatchObject({ reads: 'everything', requests: 80 });
  expect(summariseWork('main', of(160), FACTS, false, NOW)).toMatchObject({ reads: 'part', requests: 100 });
  const full = summariseWork('main', of(160), FACTS, true, NOW);
  expect(full).toMatchObject({ reads: 'everything', requests: 160, finishesAt: NOW + 3.6 * MINUTE });
  const later = { ...FACTS, free: 0, nextFreeAt: NOW + 30 * MINUTE };
  expect(summariseWork('main', of(100), later, true, NOW).finishesAt).toBe(NOW + 36 * MINUTE);
  expect(summariseWork('main', of(0, 1), FACTS, false, NOW)).toMatchObject({ reads: 'everything', finishesAt: null });
  expect(estimateText(summariseWork('main', of(160), FACTS, false, NOW), 'UTC', 5)).toBe(
    'Reading everything again would take about 160 requests; 100 of 1,000 are left now, so this reads where changes are likeliest and does not wait. It stops after 5 requests.',
  );
  expect(estimateText(summariseWork('main', of(160), later, false, NOW), 'UTC')).toBe(
    'Reading everything again would take about 160 requests; 0 of 1,000 are left now, so this reads nothing and does not wait.',
  );
  expect(estimateText(summariseWork('main', of(0, 1), FACTS, false, NOW), 'UTC')).toBe(
    'The cost is not known yet (1 part was never read); 100 of 1,000 are left now.',
  );
});

test('a dry run of sync and verify tells the cost and sends no request', async () => {
  await withInstallation({}, async ({ sandbox, sluice }) => {
    for (const command of ['sync', 'verify']) {
      const first = await sluice(command, '--dry-run');
      expect([first.code, first.stdout]).toEqual([
        0,
        expect.stringContaining('never read); 100,000 of 100,000 are left'),
      ]);
    }
    expect(sandbox.stats.total).toBe(0);
    const read = await sluice('sync', ...MAIN);
    expect(read.stderr).toMatch(/^Takes at least \d+ requests \(3 parts were never read\)/);
    const { total } = sandbox.stats;
    const again = await sluice('verify', ...MAIN, '--dry-run', '--max-requests', '5');
    expect(again.stdout).toMatch(/^Dry run of verify: no request was sent and nothing changed\.\n\nresource +requests/);
    expect(again.stdout).toMatch(/Takes about \d+ requests, until about .* UTC; .* It stops after 5 requests\.\n$/);
    expect((await sluice('sync', ...MAIN, '--dry-run', '--json')).json()).toMatchObject({
      dryRun: true,
      sources: [
        { source: 'main', reads: 'everything', neverRead: 0, finishesAt: expect.stringMatching(/Z$/) as string },
      ],
    });
    expect(sandbox.stats.total).toBe(total);
  });
});

test('--max-requests stops after that many requests with 75, keeps what was read, and the next sync continues', async () => {
  await withInstallation({}, async ({ sandbox, database, sluice }) => {
    const stopped = await sluice('sync', ...MAIN, '--max-requests', '7', '--json');
    expect([stopped.code, stopped.json().error]).toMatchObject([75, { kind: 'quota' }]);
    expect(stopped.stderr).toContain('Stopped after 7 requests, as --max-requests says.');
    expect(sandbox.stats.total).toBe(7);
    const { rows } = await database.query('select sum(requests)::int as kept from sluice.runs');
    expect(rows[0]?.kept).toBe(7);
    expect((await sluice('sync', ...MAIN)).code).toBe(0);
    expect(await differences(database, sandbox, 8, [...MAIN])).toEqual([]);
  });
});

test('a sync beyond what is left ends without waiting and says what --full would cost', async () => {
  await withInstallation({}, async ({ sandbox, env, sync }) => {
    await sync(...MAIN);
    const { total } = sandbox.stats;
    const few = { env: { ...env, SOURCE_RATE_LIMIT: String(total + 8) } };
    const second = await run(['sync', ...MAIN], few);
    expect(second.code).toBe(0);
    expect(second.stderr).toMatch(
      /^Reading everything again would take about \d+ requests; 8 of \d+ are left now, so this reads/,
    );
    expect(second.stderr).toMatch(
      /^Not read again, so not proven as of now: \d+ of \d+ parts of .*: sluice sync --full \(about \d+ requests; waits as long as it takes\)$/m,
    );
    expect(sandbox.stats.total - total).toBeLessThanOrEqual(8);
  });
});

long(
  'with nothing left of the limit, sync ends at once and says what it did not read; verify --max-requests stops with 75',
  async () => {
    await withInstallation({}, async ({ sandbox, env, sluice, sync }) => {
      await sync(...MAIN);
      const { total } = sandbox.stats;
      const few = { env: { ...env, SOURCE_RATE_LIMIT: String(total) } };
      const none = await run(['sync', ...MAIN], few);
      expect([none.code, sandbox.stats.total]).toEqual([0, total]);
      expect(none.stderr).toMatch(/; 0 of \d+ are left now, so this reads nothing and does not wait\.$/m);
      expect(none.stderr).toMatch(/^Not read again, so not proven as of now: /m);

      const verify = await sluice('verify', ...MAIN, '--max-requests', '4', '--json');
      expect([verify.code, verify.json().error.kind, sandbox.stats.total]).toEqual([75, 'quota', total + 4]);
      expect(verify.stderr).toContain('It stops after 4 requests.');

      // Last, since the lowest limit in use holds for a window.
      expect((await run(['sync', ...MAIN, '--no-wait'], few)).code).toBe(75);
      expect(sandbox.stats.total).toBe(total + 4);
    });
  },
);
