import { expect, test } from 'vitest';
import { noteTroubles } from '../../src/warehouse/ledgers/incidents.ts';
import { ALL, MAIN } from '../support/resources.ts';
import { run, useBuild, withInstallation } from './run-command.ts';

useBuild();

test('status shows a problem once: an incident replaces the failed run that caused it', async () => {
  await withInstallation({}, async ({ database, env, sluice }) => {
    const refused = await run(['sync', 'invoices'], { env: { ...env, SOURCE_API_KEY: 'wrong' } });
    expect(refused.code).toBe(1);
    const failed = (await sluice('status')).stdout;
    expect(failed).toContain('The last sync of invoices failed at ');
    const message = 'The source refused the API key.';
    await noteTroubles(database.kysely, 'main', [
      { kind: 'unauthorized', resource: null, message, next: 'Set a key.' },
    ]);
    const status = (await sluice('status')).stdout;
    expect(status).toMatch(/^main: API key rejected since \d{4}-.*\. The source refused the API key\.\nSet a key\.$/m);
    expect(status).not.toContain('The last sync of invoices failed');
    expect((await sluice('status', '--json')).json().incidents).toMatchObject([{ kind: 'unauthorized', message }]);
  });
});

test('status, doctor and quarantine fit 100 columns', async () => {
  await withInstallation({}, async ({ sandbox, sluice, sync, test }) => {
    const before = await sluice('status', '--json');
    expect(before.json().resources).toMatchObject(ALL.map(() => ({ rows: 0 })));
    const [invoice] = sandbox.rows('invoices');
    sandbox.update('invoices', invoice?.id as number, { amount: 'a lot' });
    await sync(...MAIN);

    const status = await sluice('status');
    expect([status.code, status.stderr]).toEqual([0, '']);
    const { username, host, pathname } = new URL(test.url);
    expect(status.stdout).toContain(
      `psql "postgres://${username}:***@${host}${pathname}"`.replace('postgres:', new URL(test.url).protocol),
    );
    expect(status.stdout).toMatch(/^customers +150 .* 100% +0 +0$/m);
    expect(status.stdout).toMatch(/^invoices +599 .* +0 +1$/m);
    expect(status.stdout).toMatch(/^a change of +arrives after +95% within +measured 24h$/m);
    const delay = String.raw`\d+ (?:seconds?|minutes?)`;
    expect(status.stdout).toMatch(new RegExp(`^invoices +${delay} +${delay}$`, 'm'));
    expect((await sluice('status', '--json')).json().delays).toContainEqual({
      resource: 'invoices',
      expected: { meanSeconds: expect.any(Number) as number, within95Seconds: expect.any(Number) as number },
      measuredSeconds: null,
      targetSeconds: null,
    });
    expect(status.stdout).toMatch(/^Times are in UTC\.$/m);
    for (const line of status.stdout.split('\n').slice(1)) expect(line.length, line).toBeLessThanOrEqual(100);

    const asked = sandbox.stats.total;
    const doctor = await sluice('doctor');
    expect(doctor.code).toBe(0);
    expect(sandbox.stats.total - asked).toBeLessThanOrEqual(1);
    for (const check of ['database', 'tables', 'source', 'key', 'quota'])
      expect(doctor.stdout).toMatch(new RegExp(`^ok +${check} `, 'm'));
    expect(doctor.stdout).toMatch(/SOURCE_API_KEY +\(set, not shown\) +environment/);
    expect(doctor.stdout).toMatch(/customers +newest id first/);
    expect(doctor.stdout).not.toContain('SOURCE_TIMEZONE');
    expect(doctor.stdout).toMatch(/^\d+ settings have their default: sluice doctor --settings$/m);
    expect((await sluice('doctor', '--settings')).stdout).toMatch(/^SOURCE_TIMEZONE +UTC +default$/m);

    const quarantine = await sluice('quarantine');
    expect(quarantine.stdout).toMatch(new RegExp(`^invoices +${invoice?.id} +amount: `, 'm'));
    expect(quarantine.stdout).toContain(
      'A record leaves the quarantine when the source corrects or removes it. Times are in UTC.\n',
    );
    const { records } = (await sluice('quarantine', '--json')).json();
    expect(JSON.parse(records[0].payload)).toMatchObject({ amount: 'a lot' });
  });
});
