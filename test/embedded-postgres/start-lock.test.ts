import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { withStartLock } from '../../src/embedded-postgres/start-lock.ts';

let base: string;
let file: string;
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'sluice-lock-'));
  file = join(base, 'postgres.lock');
});
afterEach(() => rm(base, { recursive: true }));

const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);

test('one holder at a time, and nothing remains afterwards', async () => {
  const events: string[] = [];
  const hold = (name: string) =>
    withStartLock(base, async () => {
      events.push(`${name} begins`);
      await new Promise(setImmediate);
      events.push(`${name} ends`);
      return name;
    });
  expect(await Promise.all([hold('a'), hold('b')])).toEqual(['a', 'b']);
  const [first, , second] = events.map(event => event.charAt(0));
  expect(events).toEqual([`${first} begins`, `${first} ends`, `${second} begins`, `${second} ends`]);
  expect(await readdir(base)).toEqual([]);
});

test('a failure releases the lock', async () => {
  await expect(withStartLock(base, () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  expect(await readdir(base)).toEqual([]);
});

test('replaces a dead holder at once, however fresh its lock is', async () => {
  const dead = spawn('/bin/true');
  await once(dead, 'exit');
  await writeFile(file, `${dead.pid} left-behind`);
  const inFuture = minutesAgo(-60);
  await utimes(file, inFuture, inFuture);
  expect(await withStartLock(base, async () => 'held')).toBe('held');
});

test('replaces a live holder that has not touched its lock for 30 seconds', async () => {
  await writeFile(file, `${process.pid} stuck`);
  await utimes(file, minutesAgo(1), minutesAgo(1));
  expect(await withStartLock(base, async () => 'held')).toBe('held');
});

test('waits for a live holder that touches its lock', async () => {
  await writeFile(file, `${process.pid} at-work`);
  const inFuture = minutesAgo(-60);
  await utimes(file, inFuture, inFuture);
  let isReleased = false;
  const waiting = withStartLock(base, async () => isReleased);
  // Long enough for several attempts; a slow machine makes fewer, and the test still passes.
  await new Promise(resolve => setTimeout(resolve, 350));
  isReleased = true;
  await rm(file);
  expect(await waiting).toBe(true);
});

test('a holder that was replaced leaves the lock of its successor', async () => {
  await withStartLock(base, () => writeFile(file, 'the successor'));
  expect(await readFile(file, 'utf8')).toBe('the successor');
});
