import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { long } from '../support/long.ts';
import { begin, KEY, run, until, useBuild, withInstallation } from './run-command.ts';

useBuild();

function useFolder(files: Readonly<Record<string, string>>): string {
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-address-')));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
  return cwd;
}

long('doctor, sync and start name the file that an address came from, before a request is sent', async () => {
  await withInstallation({}, async ({ env, sandbox }) => {
    const { SOURCE_URL: url, ...others } = env;
    const cwd = useFolder({ '.env': `SOURCE_URL=${url}\n` });
    const line = `The address ${sandbox.url} comes from ${join(cwd, '.env')}`;
    const doctor = await run(['doctor'], { env: others, cwd });
    expect(doctor.stdout).toContain(`ok      address   ${line}\n`);
    const sync = await run(['sync', 'customers', '--json'], { env: others, cwd });
    expect([sync.code, sync.stderr.split('\n')[0]]).toEqual([0, `${line}.`]);
    expect(sync.json().resources).toHaveLength(1);

    const start = begin(['start'], { env: others, cwd });
    await until(() => start.stderr().includes('sluice is running'));
    const messages = start
      .stderr()
      .trim()
      .split('\n')
      .map(each => JSON.parse(each).msg);
    expect(messages[0]).toBe(line);
    start.child.kill('SIGTERM');
    await start.ended;

    const exported = await run(['sync', 'customers'], { env });
    expect(exported.stderr).not.toContain('comes from');
  });
});

long('the addresses of several sources are named once', async () => {
  await withInstallation({}, async ({ env, sandbox }) => {
    const { SOURCE_URL: _url, SOURCE_API_KEY: _key, ...others } = env;
    const source = (name: string) => ({ name, url: sandbox.url, api_key_from: 'BOTH_KEY' });
    const cwd = useFolder({ 'sources.json': JSON.stringify([source('graz'), source('vienna')]) });
    const sync = await run(['sync', 'customers'], { env: { ...others, BOTH_KEY: KEY }, cwd });
    expect(sync.code).toBe(0);
    expect(sync.stderr.split('\n')[0]).toBe(`The addresses of 2 sources come from ${join(cwd, 'sources.json')}.`);
    const one = await run(['sync', 'customers', '--source', 'graz'], { env: { ...others, BOTH_KEY: KEY }, cwd });
    expect(one.stderr.split('\n')[0]).toBe(`The address ${sandbox.url} comes from ${join(cwd, 'sources.json')}.`);
  });
});

test.runIf(process.platform !== 'win32')('a key that everybody may read is warned about', async () => {
  await withInstallation({}, async ({ env }) => {
    const cwd = useFolder({ '.env': `SOURCE_API_KEY=${KEY}\n` });
    const status = await run(['status'], { env, cwd });
    expect([status.code, status.stderr]).toEqual([0, expect.stringContaining(`chmod o-r ${join(cwd, '.env')}.\n`)]);
  });
});
