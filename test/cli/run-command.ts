import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect } from 'vitest';
import { openSandbox, type Sandbox, type SandboxOptions } from '../../sandbox/sandbox.ts';
import { DAY } from '../../src/clock.ts';
import { openProgram } from '../../src/run-program.ts';
import type { Database } from '../../src/warehouse/database/database.ts';
import { type TestDatabase, withDatabase } from '../support/database.ts';
import type { TestResource } from '../support/resources.ts';
import { openEngine, serveOrders } from '../support/source.ts';

const REPOSITORY = new URL('../../', import.meta.url);
const ROOT = fileURLToPath(REPOSITORY);

/** No output of any command may contain it. */
export const KEY = 'key-7f3a/secret+9';

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The document on stdout; throws unless there is exactly one. */
  // biome-ignore lint/suspicious/noExplicitAny: every command has its own document
  json(): any;
}

export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Its output so far. */
  stdout(): string;
  stderr(): string;
}

let built = '';
const children = new Set<ChildProcess>();

/** Compiles the sources once for all test files: processes start in a fraction of the time, and the tests run what is shipped. Deletes builds older than a day. */
export function useBuild(): void {
  beforeAll(() => {
    const cache = join(ROOT, 'node_modules/.cache');
    built = join(cache, `sluice-${stateOfSources()}`);
    if (existsSync(built)) return;
    mkdirSync(cache, { recursive: true });
    for (const name of readdirSync(cache))
      if (/^(sluice|building)-/.test(name) && statSync(join(cache, name)).mtimeMs < Date.now() - DAY)
        rmSync(join(cache, name), { recursive: true, force: true });
    const own = mkdtempSync(join(cache, 'building-'));
    execFileSync(process.execPath, ['build.mjs', own], { cwd: ROOT });
    // `build.mjs` empties the folder first.
    writeFileSync(join(own, 'package.json'), '{"type":"module"}');
    try {
      renameSync(own, built);
    } catch {
      // Another test file has finished its build first.
      rmSync(own, { recursive: true });
    }
  });
  afterAll(() => {
    // A failed test may have left its process running.
    for (const child of children) child.kill('SIGKILL');
  });
}

/** A digest of all files that the build depends on. */
function stateOfSources(): string {
  const digest = createHash('sha256');
  for (const file of ['build.mjs', 'package-lock.json']) digest.update(readFileSync(join(ROOT, file)));
  for (const folder of ['src', 'jobs', 'migrations'])
    for (const file of readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).sort())
      if (file.endsWith('.ts')) digest.update(file).update(readFileSync(join(ROOT, folder, file)));
  return digest.digest('hex').slice(0, 16);
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly input?: string;
  /** Keep standard input open, so that the test can write to it. */
  readonly open?: boolean;
  /** Run on a terminal, where all output is stdout. Requires `hasTerminals`. */
  readonly terminal?: boolean;
}

/** From util-linux: runs a command on a terminal. */
const SCRIPT = 'script';
export const hasTerminals = process.platform === 'linux' && spawnSync(SCRIPT, ['--version']).status === 0;

/** Starts a command in an empty folder with these settings only. */
export function begin(args: readonly string[], options: RunOptions = {}): Running {
  const folder = options.cwd ?? mkdtempSync(join(tmpdir(), 'sluice-cwd-'));
  const command = [process.execPath, builtProgram(), ...args];
  const quoted = command.map(part => `'${part}'`).join(' ');
  const [program, ...given] = options.terminal
    ? [SCRIPT, '-qec', `stty rows 30 cols 100; exec ${quoted}`, '/dev/null']
    : command;
  const child = spawn(program as string, given, {
    cwd: folder,
    env: environment(options),
    stdio: 'pipe',
  });
  children.add(child);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', text => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', text => {
    stderr += text;
  });
  child.stdin.on('error', () => undefined);
  if (!options.open) child.stdin.end(options.input ?? '');
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', code => {
      children.delete(child);
      if (!options.cwd) rmSync(folder, { recursive: true, force: true });
      try {
        resolve(endedWith(code, stdout, stderr, options));
      } catch (error) {
        reject(error);
      }
    });
  });
  return { child, ended, stdout: () => stdout, stderr: () => stderr };
}

/** As `begin` does, to its end. Without a terminal or an open input it runs in this process, in a fraction of the time. */
export async function run(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  if (options.terminal || options.open) return begin(args, options).ended;
  const cwd = options.cwd ?? mkdtempSync(join(tmpdir(), 'sluice-cwd-'));
  const stdin = Readable.from([options.input ?? '']);
  const [stdout, stderr] = [collect(), collect()];
  const shell = { argv: args, env: environment(options), cwd, stdin, stdout: stdout.stream, stderr: stderr.stream };
  const code = await openProgram(shell, REPOSITORY).run();
  if (!options.cwd) rmSync(cwd, { recursive: true, force: true });
  return endedWith(code, stdout.text(), stderr.text(), options);
}

function collect(): { readonly stream: Writable; text(): string } {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(Buffer.from(chunk));
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString('utf8') };
}

/** Services of several tests run at once: each listens on any free port. */
function environment({ env }: RunOptions): Record<string, string> {
  const { PATH = '', HOME = '' } = process.env;
  return { PATH, HOME, SLUICE_PORT: '0', ...env };
}

function endedWith(code: number | null, stdout: string, stderr: string, { env }: RunOptions): Ended {
  for (const secret of [KEY, encodeURIComponent(KEY), password(env?.DATABASE_URL)])
    if (secret) expect(stdout + stderr).not.toContain(secret);
  return { code, stdout, stderr, json: () => JSON.parse(stdout) };
}

function password(url: string | undefined): string {
  return url && URL.canParse(url) ? new URL(url).password : '';
}

export interface Installation {
  readonly sandbox: Sandbox;
  readonly database: Database;
  readonly test: TestDatabase;
  readonly env: Readonly<Record<string, string>>;
  readonly sluice: (...args: string[]) => Promise<Ended>;
  /** What `sluice sync` of these lists leaves in the warehouse, in a third of its time: no process starts. */
  readonly sync: (...resources: TestResource[]) => Promise<void>;
}

/** A source, a migrated database, and the settings for both. */
export async function withInstallation(
  options: SandboxOptions,
  fn: (given: Installation) => Promise<void>,
): Promise<void> {
  const sandbox = await openSandbox({ size: 'small', apiKey: KEY, rateLimit: 0, ...options });
  try {
    await withDatabase(async (database, test) => {
      const env = {
        SOURCE_URL: sandbox.url,
        SOURCE_API_KEY: KEY,
        DATABASE_URL: test.url,
        SOURCE_RATE_LIMIT: '100000',
        // Rows come and go within seconds, and the sandbox answers with its latest state.
        SOURCE_LAG_SECONDS: '0',
      };
      const sync = async (...resources: TestResource[]) => {
        const engine = await openEngine(database, sandbox, { limit: 100_000, resources });
        const orders = await serveOrders(engine, 'sync');
        await engine.close();
        expect(orders.map(({ state, reason }) => reason ?? state)).toEqual(resources.map(() => 'done'));
      };
      await fn({ sandbox, database, test, env, sluice: (...args) => run(args, { env }), sync });
    });
  } finally {
    await sandbox.close();
  }
}

/** Waits until the condition holds; otherwise the test ends by its time-out. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise(resolve => setTimeout(resolve, 50));
}

/** The compiled program, for those who start it themselves. */
export const builtProgram = (): string => join(built, 'src/main.js');
