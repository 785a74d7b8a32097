import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { run, useBuild } from './cli/run-command.ts';

useBuild();

test('sluice --version is the version of package.json, and the newest of the changelog', async () => {
  const read = (file: string) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');
  const { version } = JSON.parse(read('package.json')) as { version: string };
  const { code, stdout } = await run(['--version']);
  expect([code, stdout]).toEqual([0, `${version}\n`]);
  expect(/^## \[(\d[^\]]*)\]/m.exec(read('CHANGELOG.md'))?.[1]).toBe(version);
});
