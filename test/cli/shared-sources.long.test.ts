import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { begin, KEY, type RunOptions, run, until, useBuild, withInstallation } from './run-command.ts';

useBuild();

const entry = (name: string, url: string, limit: number) => ({
  ...{ name, url, api_key_from: `${name.toUpperCase()}_KEY`, rate_limit: limit },
});

function writeSources(...entries: readonly object[]): string {
  const cwd = mkdtempSync(join(tmpdir(), 'sluice-shared-'));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  writeFileSync(join(cwd, 'sources.json'), JSON.stringify(entries));
  return cwd;
}

test('two sources with the same address and key are reported by doctor and in the log of start', async () => {
  await withInstallation({}, async ({ sandbox: { url }, test }) => {
    const cwd = writeSources(entry('vienna', url, 1000), entry('graz', `${url}/`, 1000));
    const env = { VIENNA_KEY: KEY, GRAZ_KEY: KEY, DATABASE_URL: test.url };
    const told = `vienna and graz have the same address and key: each reads the same data, and they share one request limit of 1,000`;
    const doctor = await run(['doctor'], { env, cwd });
    expect([doctor.code, doctor.stdout]).toEqual([0, expect.stringMatching(new RegExp(`^ok +sources +${told}$`, 'm'))]);
    await startUntilSaid(told, { env, cwd });

    const other = await run(['doctor'], { env: { ...env, GRAZ_KEY: 'another-key' }, cwd });
    expect(other.stdout).not.toMatch(/^ok +sources/m);
  });
});

test('two sources with one key at different addresses are reported with the limit that applies to both', async () => {
  await withInstallation({}, async ({ sandbox: { url }, test }) => {
    const graz = url.replace('127.0.0.1', 'localhost');
    const cwd = writeSources(entry('vienna', url, 2000), entry('graz', graz, 500));
    const env = { VIENNA_KEY: KEY, GRAZ_KEY: KEY, DATABASE_URL: test.url };
    const told =
      'vienna and graz have the same key for different addresses: they share one request limit, the lowest of theirs: 500';
    const doctor = await run(['doctor'], { env, cwd });
    expect(doctor.stdout).toMatch(new RegExp(`^ok +sources +${told}$`, 'm'));
    expect(doctor.stdout).not.toContain('the same address');
    await startUntilSaid(told, { env, cwd });
  });
});

async function startUntilSaid(told: string, options: RunOptions): Promise<void> {
  const service = begin(['start'], options);
  await until(() => service.stderr().includes(told));
  service.child.kill('SIGTERM');
  await service.ended;
}
