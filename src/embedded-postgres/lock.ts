import { randomBytes } from 'node:crypto';
import { rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { MINUTE, SECOND } from '../clock.ts';
import { SluiceError } from '../errors.ts';
import { codeOf, readIfPresent } from './files.ts';
import { isAlive } from './pid.ts';
import { START_TIMEOUT_MS } from './start.ts';

/**
 * Brackets the steps that only one process may take. It saves work, correctness does not rest on it: the cluster appears by
 * one rename, and Postgres locks its own folder. A holder that died, or that left the file untouched for 30 s, is succeeded.
 */
export async function withStartLock<T>(base: string, fn: () => Promise<T>): Promise<T> {
  const file = join(base, 'postgres.lock');
  const token = `${process.pid} ${randomBytes(8).toString('hex')}`;
  const patience = Date.now() + START_TIMEOUT_MS + MINUTE;
  while (!(await tryCreate(file, token))) {
    await succeedDeadHolder(file);
    if (Date.now() > patience) {
      throw new SluiceError('database', 'Another process has been starting the embedded Postgres for minutes.', {
        next: `If none is, remove ${file}.`,
      });
    }
    await delay(100);
  }
  const touch = setInterval(() => void utimes(file, new Date(), new Date()).catch(() => undefined), 5 * SECOND);
  try {
    return await fn();
  } finally {
    clearInterval(touch);
    if ((await readIfPresent(file)) === token) await rm(file, { force: true });
  }
}

async function tryCreate(file: string, token: string): Promise<boolean> {
  try {
    await writeFile(file, token, { flag: 'wx' });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

async function succeedDeadHolder(file: string): Promise<void> {
  const holder = await readIfPresent(file);
  const touched = await stat(file).catch(() => undefined);
  if (holder === undefined || !touched) return;
  const ageMs = Date.now() - touched.mtimeMs;
  const pid = Number(holder.split(' ')[0]);
  // An empty file is one that is just being written.
  const dead = pid > 0 && !isAlive(pid);
  if (!dead && ageMs < 30 * SECOND) return;
  const aside = `${file}.${process.pid}`;
  await rename(file, aside).catch(() => undefined);
  // Somebody else succeeded first and we took the new lock: put it back.
  if ((await readIfPresent(aside)) !== holder) await rename(aside, file).catch(() => undefined);
  await rm(aside, { force: true });
}
