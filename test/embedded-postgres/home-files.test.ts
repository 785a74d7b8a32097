import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { makeFolder } from '../../src/embedded-postgres/home-files.ts';
import { isKind } from '../../src/errors.ts';

test('a folder is created with those above it, and an existing one is kept', async () => {
  const base = await mkdtemp(join(tmpdir(), 'sluice-folder-'));
  onTestFinished(() => rm(base, { recursive: true }));
  const folder = join(base, 'one', 'two');
  await makeFolder(folder, 0o700);
  await makeFolder(folder);
  const { mode } = await stat(folder);
  expect(mode & 0o777).toBe(0o700);
  await writeFile(join(base, 'file'), '');
  await expect(makeFolder(join(base, 'file', 'below'))).rejects.toMatchObject({ code: 'ENOTDIR' });
});

test.skipIf(process.platform !== 'linux')('a folder where none can exist is refused at once', async () => {
  const error = await makeFolder('/proc/nope/data').catch((reason: unknown) => reason);
  expect(isKind(error, 'database')).toBe(true);
  expect(error).toMatchObject({
    message: 'The embedded Postgres needs /proc/nope, but no folder can be created there.',
  });
});
