import { execFileSync } from 'node:child_process';
import {
  chmod,
  chown,
  lchown,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { embeddedStatus, openEmbedded, stopEmbedded } from '../../src/embedded-postgres/embedded-server.ts';
import type { SluiceError } from '../../src/errors.ts';
import { createLog } from '../../src/log.ts';
import { ask } from '../support/ask.ts';
import { some } from '../support/long.ts';

const log = createLog({ level: 'error' });
const open = () => openEmbedded({ dataDir, log, settings: { fsync: 'off', shared_buffers: '16MB' } });
const isRoot = process.getuid?.() === 0;

let dataDir: string;
let home: string;
/** Something that the server's user must not change. */
let target: string;
/** Who runs the server: another user if root starts it. */
let user: { uid: number; gid: number };

const ownerOf = async (path: string) => (await lstat(path)).uid;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'sluice-owner-'));
  await chmod(dataDir, 0o755);
  const { url } = await open();
  await ask(url, 'create table kept as select 42 as answer');
  ({ home } = await embeddedStatus(dataDir));
  const { uid, gid } = await lstat(join(home, 'data'));
  user = { uid, gid };
});

afterAll(async () => {
  await stopEmbedded(dataDir);
  await rm(dataDir, { recursive: true, force: true });
});

test("root owns the home, and the server's user only data and log; an ordinary user owns everything", async () => {
  const me = process.getuid?.();
  expect(user.uid === 0).toBe(false);
  for (const name of ['', 'password', 'port']) expect(await ownerOf(join(home, name)), name).toBe(me);
  expect((await lstat(home)).mode & 0o777).toBe(isRoot ? 0o755 : 0o700);
  const logFile = join(home, isRoot ? 'log/server.log' : 'server.log');
  for (const path of [logFile, join(home, 'data/sluice.conf'), join(home, 'data/postgresql.conf')]) {
    expect([await ownerOf(path), (await lstat(path)).mode & 0o777], path).toEqual([user.uid, 0o600]);
  }
  const notOurs = execFileSync('find', [home, '-mindepth', '1', '-maxdepth', '1', '-uid', String(user.uid)], {
    encoding: 'utf8',
  });
  if (isRoot) expect(notOurs.trim().split('\n').sort()).toEqual([join(home, 'data'), join(home, 'log')]);
  else expect(await readFile(join(home, 'port'), 'utf8')).toMatch(/^\d+$/);
});

describe("planted by the server's user", () => {
  beforeEach(async () => {
    await stopEmbedded(dataDir);
    target = join(dataDir, 'target');
    await rm(target, { recursive: true, force: true });
  });
  afterEach(async () => {
    await stopEmbedded(dataDir);
    await rm(join(dataDir, 'postgres.lock'), { force: true });
  });

  async function stateOf(path: string): Promise<unknown> {
    const { uid, gid, mode, mtimeMs } = await lstat(path);
    return { uid, gid, mode, mtimeMs, content: await readFile(path, 'utf8').catch(() => 'a folder') };
  }

  const giveBack = (path: string) => chown(path, process.getuid?.() ?? 0, process.getgid?.() ?? 0);

  /** The outcome for root: a message about the planted path, or a server that runs because the link was replaced. */
  const REFUSED = 'refused';
  for (const [kind, name, outcome] of some(
    [
      ['symbolic link', 'postgres/log/server.log', REFUSED],
      ['symbolic link', 'postgres/port', REFUSED],
      ['symbolic link', 'postgres/password', REFUSED],
      ['symbolic link', 'postgres/data/postmaster.pid', REFUSED],
      ['symbolic link', 'postgres/data/PG_VERSION', REFUSED],
      ['symbolic link', 'postgres/data/sluice.conf', 'replaced'],
      ['symbolic link', 'postgres.lock', REFUSED],
      ['symbolic link', 'postgres.location', REFUSED],
      ['hard link', 'postgres/log/server.log', REFUSED],
      ['hard link', 'postgres/port', REFUSED],
      ['hard link', 'postgres/password', REFUSED],
      ['hard link', 'postgres/data/postmaster.pid', REFUSED],
      ['hard link', 'postgres/data/sluice.conf', 'replaced'],
    ] as const,
    5,
  )) {
    test(`${name} as a ${kind} to a file leaves that file unchanged`, async () => {
      const path = join(dataDir, name);
      await writeFile(target, 'not yours\n', { mode: 0o640 });
      const before = await stateOf(target);
      await rename(path, `${path}.kept`).catch(() => undefined);
      if (kind === 'hard link') await link(target, path);
      else await symlink(target, path);
      if (isRoot && kind === 'symbolic link') await lchown(path, user.uid, user.gid);
      try {
        const error = await open().then(
          () => undefined,
          (reason: unknown) => reason,
        );
        // An ordinary user can reach no more through such a link than without it, and may have made it.
        if (isRoot) {
          expect(await stateOf(target)).toEqual(before);
          if (outcome === REFUSED)
            expect(error).toMatchObject({
              kind: 'database',
              message: expect.stringContaining(path),
              next: expect.stringContaining('remove it'),
            });
          else expect(error).toBe(undefined);
        } else if (outcome === 'replaced') {
          expect(await stateOf(target)).toEqual(before);
        } else {
          expect(await ownerOf(target)).toBe(process.getuid?.());
        }
      } finally {
        // While its pid file is there.
        await stopEmbedded(dataDir).catch(() => undefined);
        await rm(path, { force: true });
        await rename(`${path}.kept`, path).catch(() => undefined);
      }
    });
  }

  for (const name of ['data', 'log']) {
    test(`${name} as a link to a folder leaves that folder unchanged`, async () => {
      const path = join(home, name);
      await mkdir(target, { mode: 0o750 });
      const before = await stateOf(target);
      await rename(path, `${path}.kept`).catch(() => undefined);
      await symlink(target, path);
      if (isRoot) await lchown(path, user.uid, user.gid);
      try {
        const error = await open().catch((reason: unknown) => reason);
        if (isRoot) expect(error).toMatchObject({ kind: 'database', message: expect.stringContaining(path) });
        expect(await stateOf(target)).toEqual(before);
      } finally {
        // While its pid file is there.
        await stopEmbedded(dataDir).catch(() => undefined);
        await rm(path, { force: true });
        await rename(`${path}.kept`, path).catch(() => undefined);
      }
    });
  }

  test('what was refused stays refused', async () => {
    await writeFile(target, 'not yours\n', { mode: 0o640 });
    const path = join(home, 'port');
    await rm(path);
    await symlink(target, path);
    try {
      const attempts = [await open().catch(String), await open().catch(String)];
      if (isRoot) expect(attempts).toEqual([expect.stringContaining(path), expect.stringContaining(path)]);
      expect(await ownerOf(home)).toBe(process.getuid?.());
    } finally {
      await stopEmbedded(dataDir).catch(() => undefined);
      await rm(path);
    }
    expect((await open()).started).toBe(true);
  });

  test("root refuses a home in a folder that the server's user may write, and another user's home", async () => {
    await chown(dataDir, user.uid, user.gid);
    if (isRoot) await expect(open()).rejects.toThrow(`may write ${dataDir}: root's files in it are not safe`);
    await giveBack(dataDir);
    for (const path of [home, join(home, 'password')]) await chown(path, user.uid, user.gid);
    if (isRoot) {
      const error = (await open().catch((reason: unknown) => reason)) as SluiceError;
      expect(error.message).toContain(`belongs to another user (id ${user.uid})`);
      expect(await ownerOf(home)).toBe(user.uid);
      execFileSync('/bin/sh', ['-c', /\((chown .*?)\)/.exec(error.next ?? '')?.[1] ?? 'false']);
    }
    expect((await open()).started).toBe(true);
  });

  test('a password that is a link is not sent to a running server, who may ask for it in plain text', async () => {
    await open();
    const path = join(home, 'password');
    await rename(path, `${path}.kept`);
    await symlink(`${path}.kept`, path);
    const error = await open().catch((reason: unknown) => reason);
    if (isRoot)
      expect(error).toMatchObject({ message: expect.stringContaining(`${path}, but this is a symbolic link`) });
    else expect(error).toMatchObject({ started: false });
    await rename(`${path}.kept`, path);
    expect((await open()).started).toBe(false);
  });

  test("root uses another user's server that runs, and does not stop it", async () => {
    const password = join(home, 'password');
    const { url, readerUrl } = await open();
    for (const path of [home, password]) await chown(path, user.uid, user.gid);
    expect(await open()).toEqual({ url, readerUrl, started: false });
    if (isRoot) await expect(stopEmbedded(dataDir)).rejects.toThrow('belongs to another user');
    for (const path of [home, password]) await giveBack(path);
    expect(await stopEmbedded(dataDir)).toBe(true);
  });
});
