import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { acquireSourceLock } from '../../src/warehouse/database/source-lock.ts';
import { long } from '../support/long.ts';
import { MAIN } from '../support/resources.ts';
import { begin, run, until, useBuild, withInstallation } from './run-command.ts';

useBuild();

test('agenda says what to do before a first sync', async () => {
  await withInstallation({}, async ({ sandbox, sluice }) => {
    const { code, stdout } = await sluice('agenda');
    expect(code).toBe(0);
    expect(stdout).toContain('Nothing is on the agenda yet');
    expect(stdout).toMatch(/^Never read in full: customers, .*\. Next: sluice sync$/m);
    expect((await sluice('agenda', '--json')).json()).toMatchObject({ source: 'main', questions: [], targets: [] });
    expect(sandbox.stats.total).toBe(0);
  });
});

test('agenda lists the next questions within 100 columns, best first, while another process reads the source', async () => {
  await withInstallation({}, async ({ database, env, sandbox, sync }) => {
    await sync(...MAIN);
    const asked = sandbox.stats.total;
    const lock = await acquireSourceLock(database, 'main');
    try {
      const settings = { ...env, SOURCE_RATE_LIMIT: '1000', SCHEDULE_TICKETS: 'off' };
      const { code, stdout, stderr } = await run(['agenda'], { env: settings });
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toMatch(/^1 request every 3\.6 s; \d+ of 1,000 used in this window$/m);
      expect(stdout).toMatch(/^resource +question +changes\/h +age +cost +score +why$/m);
      expect(stdout).toMatch(/^invoices +status Unpaid +\S+ +\d+ seconds? +\d+ +\S+ +these rows change most$/m);
      expect(stdout).toMatch(/^Never read in full: .*products.*\. Next: sluice sync$/m);
      expect(stdout).toMatch(/^Not on the agenda, because the schedule is off: tickets\.$/m);
      expect(stdout).toMatch(/^No service is running, so nothing is asked until: sluice start$/m);
      for (const line of stdout.split('\n\n')[1]?.split('\n') ?? []) expect(line.length, line).toBeLessThanOrEqual(100);

      const document = (await run(['agenda', '--json'], { env: settings })).json();
      expect(document).toMatchObject({ source: 'main', service: false, pace: 'even', limit: 1000, off: ['tickets'] });
      expect(document.questions.length).toBeGreaterThan(3);
      expect(document.questions.length).toBeLessThanOrEqual(20);
      const scores = document.questions.map(({ score }: { score: number }) => score);
      expect(scores).toEqual([...scores].sort((a, b) => b - a));
      expect(document.questions).toContainEqual(
        expect.objectContaining({ resource: 'invoices', slice: 'status=Unpaid', overdue: false }),
      );

      // A missing row is worth a question at once, until its list was read again.
      await database.query(
        "update sluice.coverage set proven_at = proven_at - interval '2 hours' where resource = 'transactions'",
      );
      await database.query(
        `insert into sluice.missing (source, resource, key, slice, since)
         values ('main', 'transactions', '17', 'date 2025-01-01..2025-12-31', sluice.now() - interval '1 hour')`,
      );
      const confirming = (await run(['agenda', '--json'], { env: settings })).json();
      expect(confirming.questions[0]).toMatchObject({ resource: 'transactions', why: 'confirms which rows are gone' });
      expect(sandbox.stats.total).toBe(asked);
    } finally {
      await lock?.release();
    }
  });
});

test('agenda, doctor and start say what a target needs, and whether the limit allows it', async () => {
  await withInstallation({}, async ({ env, sync }) => {
    await sync(...MAIN);
    const settings = (limit: string) => ({
      ...env,
      SOURCE_RATE_LIMIT: limit,
      FRESHNESS_TARGET_MINUTES_INVOICES: '1',
      FRESHNESS_TARGET_MINUTES_QUOTES: '5',
    });
    const generous = await run(['agenda'], { env: settings('100000') });
    expect(generous.stdout).toMatch(
      /^Target: invoices within 1 minute on average needs [\d,]+ requests an hour, which the limit of 100,000 allows\.$/m,
    );
    expect(generous.stdout).toMatch(
      /^Target: quotes within 5 minutes on average: not known yet what it needs, because/m,
    );
    const tight = await run(['agenda', '--json'], { env: settings('20') });
    expect(tight.json().targets).toMatchObject([
      { resource: 'invoices', targetSeconds: 60, feasible: false },
      { resource: 'quotes', requestsAnHour: null, feasible: null },
    ]);
    const { reachableSeconds, requestsAnHour } = tight.json().targets[0];
    expect(requestsAnHour).toBeGreaterThan(18);
    expect(reachableSeconds).toBeGreaterThan(60);
    const service = begin(['start'], { env: settings('100000') });
    await until(() => /"msg":"target: invoices within 1 minute on average needs /.test(service.stderr()));
    service.child.kill('SIGTERM');
    expect((await service.ended).code).toBe(0);
    const doctor = await run(['doctor'], { env: settings('20') });
    expect(doctor.stdout).toMatch(
      /^ok +target +invoices within 1 minute on average needs [\d,]+ requests an hour; targets can have 18 of 20, so expect \d+ \w+\n +Raise the target, or the request limit/m,
    );
  });
});

long('agenda shows each of several sources', async () => {
  await withInstallation({}, async ({ env }) => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-agenda-'));
    try {
      const { SOURCE_URL: url, SOURCE_API_KEY, ...others } = env;
      const entry = { url, api_key_from: 'BOOKS_KEY' };
      const sources = [
        { ...entry, name: 'main' },
        { ...entry, name: 'second', target_minutes: { invoices: 5 } },
      ];
      writeFileSync(join(folder, 'sources.json'), JSON.stringify(sources));
      const options = { env: { ...others, BOOKS_KEY: SOURCE_API_KEY as string }, cwd: folder };
      const pending = await run(['agenda'], options);
      expect(pending.stdout).toMatch(/^Pending migrations: .*\nNext: sluice sync, which migrates first$/m);
      await run(['migrate'], options);
      expect((await run(['agenda', '--json'], options)).json()).toMatchObject({
        sources: [
          { source: 'main', targets: [] },
          { source: 'second', targets: [{ resource: 'invoices', feasible: null }] },
        ],
      });
      const text = (await run(['agenda'], options)).stdout;
      expect(text).toMatch(/^Source {2}main$[\s\S]*^Source {2}second$[\s\S]*^Target: invoices within 5 minutes/m);
      expect((await run(['agenda', '--source', 'main', '--json'], options)).json().source).toBe('main');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
