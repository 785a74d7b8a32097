import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { prepareBinaries } from '../../src/embedded-postgres/binaries.ts';
import {
  embeddedStatus,
  openEmbedded,
  removeEmbedded,
  stopEmbedded,
} from '../../src/embedded-postgres/embedded-server.ts';
import { serverUserOf } from '../../src/embedded-postgres/home.ts';
import { serverLog } from '../../src/embedded-postgres/home-files.ts';
import { startServer } from '../../src/embedded-postgres/server-process.ts';
import { createLog } from '../../src/log.ts';
import { ask } from '../support/ask.ts';

const log = createLog({ level: 'error' });
const settings = { fsync: 'off', shared_buffers: '16MB' };
const open = (dataDir: string) => openEmbedded({ dataDir, log, settings });

test('what it keeps is removed with its server, and nothing of others in its folder', async () => {
  const dataDir = await makeDataDir();
  const { url } = await open(dataDir);
  const { home } = await embeddedStatus(dataDir);
  const theirs = join(dataDir, 'theirs.txt');
  await writeFile(theirs, 'kept');
  await removeEmbedded(dataDir);
  expect(await embeddedStatus(dataDir)).toMatchObject({ state: 'absent' });
  await expect(ask(url, 'select 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  await expect(stat(home)).rejects.toMatchObject({ code: 'ENOENT' });
  expect(await readdir(dataDir)).toEqual(['theirs.txt']);
  await rm(theirs);
  await open(dataDir);
  await removeEmbedded(dataDir);
  await expect(stat(dataDir)).rejects.toMatchObject({ code: 'ENOENT' });
});

async function makeDataDir(): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'sluice-embedded-'));
  await chmod(dataDir, 0o755);
  return dataDir;
}

/** The pid of the running server. */
async function serverPid(dataDir: string): Promise<number> {
  const { pid } = await embeddedStatus(dataDir);
  if (pid === undefined) throw new Error('the server does not run');
  return pid;
}

async function killServer(dataDir: string): Promise<void> {
  const pid = await serverPid(dataDir);
  process.kill(pid, 'SIGKILL');
  while ((await embeddedStatus(dataDir)).state !== 'stopped') await delay(20);
}

/** As a second `sluice` command on this machine would. */
async function openInAnotherProcess(dataDir: string): Promise<{ url: string; started: boolean }> {
  const script = `
    const { openEmbedded } = await import(${JSON.stringify(new URL('../../src/embedded-postgres/embedded-server.ts', import.meta.url).href)});
    const { createLog } = await import(${JSON.stringify(new URL('../../src/log.ts', import.meta.url).href)});
    const log = createLog({ level: 'error' });
    console.log(JSON.stringify(await openEmbedded({ dataDir: ${JSON.stringify(dataDir)}, log, settings: ${JSON.stringify(settings)} })));`;
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--import',
    'tsx',
    '--input-type=module',
    '-e',
    script,
  ]);
  return JSON.parse(stdout) as { url: string; started: boolean };
}

describe('the embedded server', () => {
  let dataDir: string;
  let home: string;
  let url: string;
  let helper: ChildProcess | undefined;

  beforeAll(async () => {
    dataDir = await makeDataDir();
    expect(await embeddedStatus(dataDir)).toMatchObject({ state: 'absent' });
    expect(await stopEmbedded(dataDir)).toBe(false);
    // Two processes at the same time: one creates and starts it, the other attaches.
    const opened = await Promise.all([openInAnotherProcess(dataDir), openInAnotherProcess(dataDir)]);
    expect(opened.filter(({ started }) => started)).toHaveLength(1);
    expect(opened[0]?.url).toBe(opened[1]?.url);
    url = opened[0]?.url as string;
    ({ home } = await embeddedStatus(dataDir));
  });

  afterEach(() => {
    helper?.kill('SIGKILL');
    helper = undefined;
  });

  afterAll(async () => {
    await stopEmbedded(dataDir);
    await rm(dataDir, { recursive: true, force: true });
    await rm(home, { recursive: true, force: true });
  });

  test('outlives the process that started it, and the next process attaches', async () => {
    expect(await open(dataDir)).toMatchObject({ url, started: false });
    expect(await embeddedStatus(dataDir)).toMatchObject({ state: 'running', port: Number(new URL(url).port) });
  });

  test('uses UTF-8, a deterministic sort order and UTC', async () => {
    const [row] = await ask(
      url,
      `select pg_encoding_to_char(encoding) as encoding, datlocprovider as provider, datcollate as collation,
              current_setting('TimeZone') as zone
       from pg_database where datname = current_database()`,
    );
    expect(row).toEqual({ encoding: 'UTF8', provider: 'b', collation: 'C', zone: 'UTC' });
  });

  test('listens on loopback only and requires the password', async () => {
    expect(await ask(url, 'show listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }]);
    const wrong = new URL(url);
    wrong.password = 'guessed';
    await expect(ask(wrong.href, 'select 1')).rejects.toMatchObject({ code: '28P01' });
    for (const file of ['password', 'admin-password', 'reader-password', 'port'])
      expect((await stat(join(home, file))).mode & 0o777, file).toBe(0o600);
  });

  test('stops on request and restarts on the same port with its data', async () => {
    await ask(url, 'create table kept as select 42 as answer');
    expect(await stopEmbedded(dataDir)).toBe(true);
    expect(await stopEmbedded(dataDir)).toBe(false);
    expect(await embeddedStatus(dataDir)).toMatchObject({ state: 'stopped' });
    expect(await open(dataDir)).toMatchObject({ url, started: true });
    expect(await ask(url, 'select answer from kept')).toEqual([{ answer: 42 }]);
  });

  test('recovers after kill -9', async () => {
    await killServer(dataDir);
    expect(await open(dataDir)).toMatchObject({ url, started: true });
  });

  test('a server that a killed process has begun to start is left alone', async () => {
    const { pid } = await embeddedStatus(dataDir);
    const user = await serverUserOf(home);
    const { pgCtl } = await prepareBinaries(home, user);
    // As a process would that looked for a server before it was there.
    await startServer(home, pgCtl, user, settings);
    expect(await embeddedStatus(dataDir)).toMatchObject({ state: 'running', pid });
    expect(await open(dataDir)).toMatchObject({ url, started: false });
  });

  test('starts although another process now has the id of its killed server', async () => {
    const { uid, gid } = await stat(join(home, 'data'));
    helper = spawn('/bin/sleep', ['60'], process.getuid?.() === 0 ? { uid, gid } : {});
    await once(helper, 'spawn');
    await killServer(dataDir);
    const file = join(home, 'data', 'postmaster.pid');
    const lines = (await readFile(file, 'utf8')).split('\n');
    await writeFile(file, [String(helper.pid), ...lines.slice(1)].join('\n'));
    expect(await embeddedStatus(dataDir)).toMatchObject({ state: 'stopped' });
    expect(await open(dataDir)).toMatchObject({ url, started: true });
    expect(helper.exitCode).toBe(null);
  });

  test('starts on another port when its own was taken while it was stopped', async () => {
    await stopEmbedded(dataDir);
    const thief = createServer().listen(Number(new URL(url).port), '127.0.0.1');
    await once(thief, 'listening');
    try {
      const opened = await open(dataDir);
      expect(opened.started).toBe(true);
      expect(new URL(opened.url).port).not.toBe(new URL(url).port);
      url = opened.url;
      expect(await ask(url, 'select 1 as one')).toEqual([{ one: 1 }]);
    } finally {
      thief.close();
    }
  });

  test('starts despite a start lock left by a dead process', async () => {
    await stopEmbedded(dataDir);
    const dead = spawn('/bin/true');
    await once(dead, 'exit');
    await writeFile(join(dataDir, 'postgres.lock'), `${dead.pid} left-behind`);
    expect((await open(dataDir)).started).toBe(true);
    await expect(stat(join(dataDir, 'postgres.lock'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('the log of a server that runs for months is kept to two files of about 10 MB, and written on', async () => {
    const path = serverLog(home);
    const { uid, gid } = await stat(path);
    for (const times of [1, 2]) {
      await appendFile(path, `${'x'.repeat(127)}\n`.repeat(100_000));
      expect(await open(dataDir)).toMatchObject({ started: false });
      expect((await stat(path)).size).toBe(0);
      const wrong = Object.assign(new URL(url), { username: `nobody_${times}` });
      await expect(ask(wrong.href, 'select 1')).rejects.toMatchObject({ code: '28P01' });
      expect(await readFile(path, 'utf8')).toContain(`nobody_${times}`);
    }
    const logs = (await readdir(dirname(path))).filter(name => name.startsWith('server.log')).sort();
    expect(logs).toEqual(['server.log', 'server.log.1']);
    expect((await readFile(`${path}.1`, 'utf8')).slice(0, 1000)).toContain('nobody_1');
    expect(await stat(`${path}.1`)).toMatchObject({ uid, gid });
    expect((await stat(`${path}.1`)).mode & 0o077).toBe(0);
  });

  test('what a reader does wrong is not logged', async () => {
    const before = await readFile(serverLog(home), 'utf8');
    const { readerUrl } = await open(dataDir);
    await expect(ask(readerUrl, "do $$ begin raise log 'a flood'; raise 'a failure'; end $$")).rejects.toThrow(
      'a failure',
    );
    expect(await readFile(serverLog(home), 'utf8')).toBe(before);
  });

  test('a failed start quotes the server log', async () => {
    await stopEmbedded(dataDir);
    const conf = join(home, 'data', 'postgresql.conf');
    const before = await readFile(conf, 'utf8');
    await appendFile(conf, '\nno_such_setting = 1\n');
    await expect(open(dataDir)).rejects.toMatchObject({
      kind: 'database',
      message: expect.stringContaining('no_such_setting'),
    });
    await writeFile(conf, before);
    expect((await open(dataDir)).started).toBe(true);
  });

  test('refuses data of another major version before the server touches it', async () => {
    await stopEmbedded(dataDir);
    const file = join(home, 'data', 'PG_VERSION');
    await writeFile(file, '17\n');
    await expect(open(dataDir)).rejects.toMatchObject({
      kind: 'database',
      message: expect.stringMatching(/was created by Postgres 17; this version of Sluice includes Postgres 18/),
    });
    await writeFile(file, '18\n');
    expect((await open(dataDir)).started).toBe(true);
  });
});

test('a data folder that cannot be created is one clear error', async () => {
  const dataDir = await makeDataDir();
  try {
    await writeFile(join(dataDir, 'file'), '');
    await expect(open(join(dataDir, 'file', '.sluice'))).rejects.toMatchObject({
      kind: 'database',
      message: expect.stringMatching(/^The embedded Postgres needs .+, but a part of that path is not a folder\.$/),
    });
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
});

test.runIf(process.getuid?.() === 0)(
  'as root in a folder that no other user may enter, the data goes to /var/lib/sluice',
  async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'sluice-private-'));
    let home: string | undefined;
    try {
      const opened = await open(dataDir);
      ({ home } = await embeddedStatus(dataDir));
      expect(home).toMatch(/^\/var\/lib\/sluice\/[0-9a-f]{16}$/);
      expect(await open(dataDir)).toEqual({ ...opened, started: false });
      expect(await stopEmbedded(dataDir)).toBe(true);
    } finally {
      await rm(dataDir, { recursive: true, force: true });
      if (home) await rm(home, { recursive: true, force: true });
    }
  },
);
