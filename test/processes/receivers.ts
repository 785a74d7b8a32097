import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import type { Random } from '../../sandbox/data/random.ts';
import { isFree } from '../../src/embedded-postgres/server-process.ts';
import type { Logged } from '../support/replay-log.ts';
import type { Outages } from './outages.ts';

/** A message that a receiver has stored. */
export interface Accepted {
  /** Epoch ms. */
  readonly at: number;
  readonly id: string;
  readonly body: string;
  readonly isSigned: boolean;
}

/** A receiver whose process can be killed and started again, with the same port and file. */
export interface KillableReceiver {
  readonly url: string;
  start(secret: string): void;
  /** Kills it and starts another. */
  killAndStart(): Promise<void>;
  /** Resolves with itself once it is sent a message, or the signal aborts. */
  message(signal: AbortSignal): Promise<KillableReceiver>;
  accepted(): Accepted[];
  stop(): Promise<void>;
}

const PROGRAM = fileURLToPath(new URL('receiver.ts', import.meta.url));

export async function createReceiver({
  name,
  folder,
  random,
  outages,
}: {
  readonly name: string;
  readonly folder: string;
  readonly random: Random;
  readonly outages: Outages;
}): Promise<KillableReceiver> {
  const file = join(folder, `${name}.jsonl`);
  const port = await freePort(random);
  let secret = '';
  let child: ChildProcess;
  const start = () => {
    outages.begin(name);
    const args = [file, String(port), secret, String(random.int(1, 1e9))];
    child = fork(PROGRAM, args, { execArgv: ['--import', 'tsx'] });
    child.on('message', what => what === 'listening' && outages.end(name));
  };
  const stop = async () => {
    outages.begin(name);
    const ended = once(child, 'exit');
    // It may have ended because its port was taken.
    expect(child.exitCode).toBeNull();
    child.kill('SIGKILL');
    await ended;
  };
  const receiver: KillableReceiver = {
    url: `http://127.0.0.1:${port}/${name}`,
    start(given) {
      secret = given;
      start();
    },
    async killAndStart() {
      await stop();
      start();
    },
    async message(signal) {
      for (;;) {
        const [what] = await once(child, 'message', { signal }).catch(() => []);
        if (what !== 'listening') return receiver;
      }
    },
    accepted: () =>
      readFileSync(file, 'utf8')
        .split('\n')
        .slice(0, -1)
        .map(line => JSON.parse(line) as Accepted),
    stop,
  };
  return receiver;
}

/** Below the range of outgoing connections, one of which could take it while the receiver is dead. */
async function freePort(random: Random): Promise<number> {
  for (;;) {
    const port = random.int(20_000, 32_000);
    if (await isFree(port)) return port;
  }
}

/**
 * Checks that exactly these changes were accepted, each as the log has it, in their order but for messages that came again. Returns when
 * each came first (epoch ms), and how many messages there were.
 */
export function checkAccepted(accepted: readonly Accepted[], wanted: readonly Logged[]) {
  const bodies = new Map<string, string>();
  const first = new Map<number, { readonly change: Logged; readonly at: number }>();
  for (const { at, id, body, isSigned } of accepted) {
    expect([id, isSigned]).toEqual([id, true]);
    const { changes, ...rest } = JSON.parse(body) as { changes: Logged[] };
    expect(rest).toEqual({ type: 'changes', source: 'main' });
    const known = bodies.get(id);
    if (known !== undefined) {
      expect(body).toBe(known);
      continue;
    }
    bodies.set(id, body);
    for (const change of changes) {
      expect(first.has(change.number), `${change.number} in ${id}, again in another message`).toBe(false);
      first.set(change.number, { change, at });
    }
  }
  expect(Array.from(first.values(), ({ change }) => change)).toEqual(wanted);
  return { moments: new Map(Array.from(first, ([number, { at }]) => [number, at])), messages: bodies.size };
}
