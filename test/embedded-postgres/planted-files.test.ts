import { link, lstat, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { foldersAbove } from '../../src/embedded-postgres/home.ts';
import { readUnlinked, replaceFile, whyPlanted } from '../../src/embedded-postgres/home-files.ts';
import { choosePort, disarmPidFile } from '../../src/embedded-postgres/server-process.ts';
import { withStartLock } from '../../src/embedded-postgres/start-lock.ts';

let folder: string;
let target: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-planted-'));
  target = join(folder, 'target');
  await writeFile(target, '41\n', { mode: 0o640 });
});
afterEach(async () => {
  expect(await readFile(target, 'utf8')).toBe('41\n');
  expect((await stat(target)).mode & 0o777).toBe(0o640);
  await rm(folder, { recursive: true });
});

test('a symbolic link is not read, and the message names it and the next step', async () => {
  const path = join(folder, 'planted');
  await symlink(target, path);
  await expect(readUnlinked(path)).rejects.toMatchObject({
    kind: 'database',
    message: `The embedded Postgres needs ${path}, but this is a symbolic link, which is not followed.`,
    next: expect.stringContaining('remove it'),
  });
  await expect(readUnlinked(folder)).rejects.toThrow('is not a file');
  expect(await readUnlinked(target)).toBe('41\n');
  expect(await readUnlinked(join(folder, 'absent'))).toBe(undefined);
});

for (const [name, plant] of [
  ['symbolic', symlink],
  ['hard', link],
] as const) {
  test(`a file is replaced, never written through a ${name} link`, async () => {
    const path = join(folder, 'planted');
    await plant(target, path);
    await plant(target, `${path}.new`);
    await replaceFile(path, 'new text', undefined);
    expect(await readFile(path, 'utf8')).toBe('new text');
    expect((await lstat(path)).isFile()).toBe(true);
    expect((await lstat(path)).mode & 0o777).toBe(0o600);
  });
}

for (const [name, write] of [
  ['port', (home: string) => choosePort(home)],
  ['data/postmaster.pid', (home: string) => disarmPidFile(home, undefined)],
] as const) {
  test(`${name} is not written through a hard link`, async () => {
    await mkdir(join(folder, 'data'));
    await link(target, join(folder, name));
    const error = await write(folder).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    // Root does not even read a file that may be a link to another one of root's.
    if (process.getuid?.() === 0) expect(error).toHaveProperty('message', expect.stringContaining('hard link'));
    else expect((await stat(target)).nlink).toBe(1);
  });
}

test('the start lock refuses a link at once, and changes neither the times nor the text of its target', async () => {
  const before = await stat(target);
  await symlink(target, join(folder, 'postgres.lock'));
  await expect(withStartLock(folder, async () => undefined)).rejects.toThrow('is a symbolic link');
  expect((await stat(target)).mtimeMs).toBe(before.mtimeMs);
});

describe('root uses a file', () => {
  const file = (uid: number, nlink = 1, isLink = false) => ({
    uid,
    nlink,
    isFile: () => !isLink,
    isDirectory: () => false,
    isSymbolicLink: () => isLink,
  });
  for (const [what, stats, folderOwner, reason] of [
    ["of root's in root's folder", file(0), 0, undefined],
    ["of the folder's owner, whatever else it is called", file(101, 2), 101, undefined],
    ["of root's in the folder of another user", file(0), 101, undefined],
    ['but no symbolic link', file(101, 1, true), 101, 'is a symbolic link, which is not followed'],
    ["but no hard link to root's", file(0, 2), 101, 'belongs to root and has another name (hard link)'],
    ["but no hard link of before in a folder that is root's by now", file(0, 2), 0, expect.stringContaining('hard')],
    ["but no hard link to a third user's", file(1000, 2), 101, 'belongs to another user (id 1000)'],
    ["but nobody else's in root's folder", file(101), 0, 'belongs to another user (id 101)'],
  ] as const) {
    test(what, () => expect(whyPlanted(stats, folderOwner)).toEqual(reason));
  }
});

test('every folder above a home is checked', () => {
  expect(foldersAbove('/srv/one/two')).toEqual(['/srv/one', '/srv', '/']);
});
