import { copyFile, lstat, stat, truncate } from 'node:fs/promises';
import { dirname } from 'node:path';
import { serverUserOf } from './home.ts';
import { serverLog } from './home-files.ts';
import { giveFolder } from './ownership/give.ts';
import { planted, whyPlanted } from './ownership/planted.ts';
import { runProgram } from './run-program.ts';
import type { ServerUser } from './server-user.ts';

const MOST_BYTES = 10 * 1024 * 1024;

/** The log, and where the messages of the start that follows begin. pg_ctl creates the file, as the server's user. */
export async function openServerLog(home: string, user: ServerUser): Promise<{ path: string; size: number }> {
  const path = serverLog(home);
  if (user) await giveFolder(dirname(path), user);
  const stats = await (user ? lstat(path) : stat(path)).catch(() => undefined);
  const reason = stats && user && whyPlanted(stats, user.uid);
  if (reason) throw planted(path, reason);
  return { path, size: (await limitServerLog(home)) ? 0 : (stats?.size ?? 0) };
}

/**
 * Above 10 MB, copies the log and empties it; false below. The running server goes on writing at its end. (Postgres' own collector
 * truncates by time, not by size.) An emptied log without a copy is better than a full disk.
 */
export async function limitServerLog(home: string): Promise<boolean> {
  const path = serverLog(home);
  const { size } = (await stat(path).catch(() => undefined)) ?? { size: 0 };
  if (size <= MOST_BYTES) return false;
  const user = await serverUserOf(home);
  if (user) await runProgram('/bin/sh', ['-c', 'cp -- "$0" "$0.1"; : > "$0"', path], { cwd: '/', user });
  else {
    await copyFile(path, `${path}.1`).catch(() => undefined);
    await truncate(path);
  }
  return true;
}
