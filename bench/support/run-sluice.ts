import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { cpuSeconds, residentMb } from '../fleet-usage.ts';
import type { SourceAddress } from './open-source.ts';

const main = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));
const SAMPLE_MS = 50;

/** What one command did and took. */
export interface CommandRun {
  readonly exit: number | null;
  readonly ms: number;
  readonly cpuMs: number;
  readonly peakMb: number;
  /** What it printed with `--json`; null if it printed none. */
  readonly document: SyncDocument | null;
}

/** The part of the result of `sync` that is compared. */
export interface SyncDocument {
  readonly resources: readonly {
    readonly new: number;
    readonly changed: number;
    readonly unchanged: number;
    readonly requests: number;
  }[];
}

/** The environment of a Sluice that reads `source` without a limit, unless `more` sets one. */
export function environmentOf(source: SourceAddress, url: string, more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const { PATH = '', HOME = '' } = process.env;
  return {
    PATH,
    HOME,
    SOURCE_URL: source.url,
    SOURCE_API_KEY: source.apiKey,
    SOURCE_RATE_LIMIT: '1000000',
    DATABASE_URL: url,
    ...more,
  };
}

/** Only customers, invoices and transactions are read on a schedule. */
export const OTHERS_OFF = Object.fromEntries(
  ['PRODUCTS', 'QUOTES', 'TICKETS', 'USERS', 'ORDERS', 'SUPPLIERS', 'PURCHASES', 'FINANCIAL_SUMMARIES'].map(name => [
    `SCHEDULE_${name}`,
    'off',
  ]),
);

/** Starts a command of the built program. It finds no settings file in its folder. */
export function startSluice(args: readonly string[], env: NodeJS.ProcessEnv): ChildProcess & { pid: number } {
  const child = spawn(process.execPath, [main, ...args], { env, cwd: tmpdir(), stdio: ['ignore', 'pipe', 'pipe'] });
  if (child.pid === undefined) throw new Error('Sluice could not be started.');
  return child as ChildProcess & { pid: number };
}

/** Runs a command to its end and prints its log if it fails. CPU and memory may lack the last 50 ms (Linux only). */
export async function runSluice(args: readonly string[], env: NodeJS.ProcessEnv): Promise<CommandRun> {
  const started = performance.now();
  const child = startSluice([...args, '--json'], env);
  const [output, log] = [collect(child.stdout), collect(child.stderr)];
  let [cpu, peakMb] = [0, 0];
  const sample = setInterval(() => {
    cpu = Math.max(cpu, cpuSeconds(child.pid));
    peakMb = Math.max(peakMb, residentMb(child.pid).peak);
  }, SAMPLE_MS);
  const [exit] = (await once(child, 'close')) as [number | null];
  clearInterval(sample);
  const ms = performance.now() - started;
  if (exit !== 0) process.stderr.write(`sluice ${args.join(' ')}: exit code ${exit}\n${log().slice(-2000)}\n`);
  const document = output() === '' ? null : (JSON.parse(output()) as SyncDocument);
  return { exit, ms, cpuMs: cpu * 1000, peakMb, document };
}

function collect(stream: NodeJS.ReadableStream | null): () => string {
  let text = '';
  stream?.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  return () => text;
}

/** The sum of a figure over all resources of a result. */
export function total(run: CommandRun, of: 'new' | 'changed' | 'unchanged' | 'requests'): number {
  return (run.document?.resources ?? []).reduce((sum, each) => sum + each[of], 0);
}
