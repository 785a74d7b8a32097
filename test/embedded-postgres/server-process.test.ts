import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { choosePort, isFree } from '../../src/embedded-postgres/server-process.ts';

let home: string;
let other: Server | undefined;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-port-'));
});
afterEach(async () => {
  other?.close();
  await rm(home, { recursive: true });
});

const kept = async () => Number(await readFile(join(home, 'port'), 'utf8'));

async function listenOn(port: number): Promise<void> {
  other = createServer().listen(port, '127.0.0.1');
  await once(other, 'listening');
}

test('a new home gets a port below the range of outgoing connections, and keeps it', async () => {
  const port = await choosePort(home);
  expect(port).toBeGreaterThanOrEqual(15_432);
  expect(port).toBeLessThan(16_532);
  expect(await kept()).toBe(port);
  // At once, in the same process: a server that has just crashed restarts where its clients look for it.
  expect(await choosePort(home)).toBe(port);
});

test('a kept port is used while it is free, whatever its number', async () => {
  let port = 17_000;
  while (!(await isFree(port))) port++;
  await writeFile(join(home, 'port'), String(port));
  expect(await choosePort(home)).toBe(port);
});

test('another port replaces the kept one when another program listens there', async () => {
  const taken = await choosePort(home);
  await listenOn(taken);
  expect(await isFree(taken)).toBe(false);
  const port = await choosePort(home);
  expect(port).not.toBe(taken);
  expect(await kept()).toBe(port);
});
