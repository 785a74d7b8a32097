import { expect } from 'vitest';
import { begin, type Running } from '../cli/run-command.ts';
import type { Outages } from './outages.ts';

/** `sluice start`, which can be killed and started again. */
export interface KillableService {
  start(): void;
  /** Its database was killed: it may end with an error. */
  databaseKilled(): void;
  hasEnded(): boolean;
  kill(): Promise<void>;
  /** As SIGTERM does. */
  stop(): Promise<void>;
}

/** The outages of all receivers that it has or reports are added. */
export function createService(env: Readonly<Record<string, string>>, cwd: string, outages: Outages): KillableService {
  let running: Running;
  let hasEnded = false;
  let mayFail = false;

  const end = async (signal: 'SIGKILL' | 'SIGTERM') => {
    running.child.kill(signal);
    const { code, stderr } = await running.ended;
    expect(stderr).not.toContain('bug in Sluice');
    addBackOffs(stderr, outages);
    // Null: it was killed.
    const expected = signal === 'SIGTERM' ? 0 : mayFail ? expect.toBeOneOf([null, 1]) : null;
    expect([signal, code, stderr]).toEqual([signal, expected, stderr]);
  };
  return {
    start() {
      outages.begin(null);
      const started = begin(['start'], { env, cwd });
      running = started;
      hasEnded = mayFail = false;
      started.child.stderr?.on('data', () => {
        if (started.stderr().includes('sluice is running')) outages.end(null);
      });
      started.child.once('exit', () => {
        if (running === started) hasEnded = true;
      });
    },
    databaseKilled() {
      mayFail = true;
    },
    hasEnded: () => hasEnded,
    async kill() {
      outages.begin(null);
      await end('SIGKILL');
    },
    stop: () => end('SIGTERM'),
  };
}

function addBackOffs(stderr: string, outages: Outages): void {
  for (const line of stderr
    .split('\n')
    .filter(each => each.includes('could not deliver changes') && each.endsWith('}'))) {
    const { time, receiver, retryInMs } = JSON.parse(line) as { time: string; receiver: string; retryInMs: number };
    outages.add(receiver, Date.parse(time), Date.parse(time) + retryInMs);
  }
}
