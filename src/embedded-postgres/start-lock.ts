import { randomBytes } from 'node:crypto';
import { lstat, lutimes, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { MINUTE, SECOND } from '../clock.ts';
import { codeOf, SluiceError } from '../errors.ts';
import { readUnlinked } from './home-files.ts';
import { isAlive, START_TIMEOUT_MS } from './server-process.ts';

const TOUCH_EVERY_MS = 5 * SECOND;
const STALE_AFTER_MS = 30 * SECOND;
const WAIT_MS = START_TIMEOUT_MS + MINUTE;

/**
 * Runs `fn` while holding the lock file `postgres.lock`. A holder that is dead is replaced at once, one that has not touched
 * the file for 30 s is replaced too. (proper-lockfile judges by age alone: a killed holder would block the next start for
 * 30 s.) The lock saves work, and correctness does not depend on it: initdb ends with one rename, and Postgres locks its data.
 */
export async function withStartLock<T>(base: string, fn: () => Promise<T>): Promise<T> {
  const file = join(base, 'postgres.lock');
  const token = `${process.pid} ${randomBytes(8).toString('hex')}`;
  const deadline = Date.now() + WAIT_MS;
  while (!(await tryCreate(file, token))) {
    await removeStaleLock(file);
    if (Date.now() > deadline) {
      const minutes = WAIT_MS / MINUTE;
      throw new SluiceError(
        'database',
        `Another process has been starting the embedded Postgres for ${minutes} minutes.`,
        { next: `If no such process exists, remove ${file}, then repeat the command.` },
      );
    }
    await delay(100);
  }
  const touch = setInterval(() => void lutimes(file, new Date(), new Date()).catch(() => undefined), TOUCH_EVERY_MS);
  try {
    return await fn();
  } finally {
    clearInterval(touch);
    if ((await readUnlinked(file).catch(() => undefined)) === token) await rm(file, { force: true });
  }
}

async function tryCreate(file: string, token: string): Promise<boolean> {
  try {
    await writeFile(file, token, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

async function removeStaleLock(file: string): Promise<void> {
  const holder = await readUnlinked(file);
  const touched = await lstat(file).catch(() => undefined);
  if (holder === undefined || !touched) return;
  // An empty file is being written at this moment, and names no process yet.
  const pid = Number(holder.split(' ')[0]);
  const isDead = pid > 0 && !isAlive(pid);
  if (!isDead && Date.now() - touched.mtimeMs < STALE_AFTER_MS) return;
  const aside = `${file}.${process.pid}`;
  await rename(file, aside).catch(() => undefined);
  // Another process was faster and this is its new lock: put it back.
  if ((await readUnlinked(aside)) !== holder) await rename(aside, file).catch(() => undefined);
  await rm(aside, { force: true });
}
