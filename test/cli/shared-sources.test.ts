import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { begin, KEY, run, until, useBuild, withInstallation } from './run-command.ts';

useBuild();

test('two sources with the same address and key are reported by doctor and in the log of start', async () => {
  await withInstallation({}, async ({ sandbox, test }) => {
    const cwd = mkdtempSync(join(tmpdir(), 'sluice-shared-'));
    onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
    const source = (name: string, url: string) => ({ name, url, api_key_from: `${name.toUpperCase()}_KEY` });
    const { url } = sandbox;
    writeFileSync(join(cwd, 'sources.json'), JSON.stringify([source('vienna', url), source('graz', `${url}/`)]));
    const env = { VIENNA_KEY: KEY, GRAZ_KEY: KEY, DATABASE_URL: test.url };
    const told = 'vienna and graz have the same address and key: each reads the same data';
    const doctor = await run(['doctor'], { env, cwd });
    expect([doctor.code, doctor.stdout]).toEqual([0, expect.stringMatching(new RegExp(`^ok +sources +${told}`, 'm'))]);
    const service = begin(['start'], { env, cwd });
    await until(() => service.stderr().includes(told));
    service.child.kill('SIGTERM');
    await service.ended;

    const other = await run(['doctor'], { env: { ...env, GRAZ_KEY: 'another-key' }, cwd });
    expect(other.stdout).not.toContain('have the same address');
  });
});
