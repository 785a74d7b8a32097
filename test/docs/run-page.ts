import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { builtProgram } from '../cli/run-command.ts';
import { makeServerFolder } from '../support/postgres.ts';
import { type Block, blocksOf, ROOT, runnable } from './documents.ts';

/** Programs of which a machine for tests need not have any: their lines are read by the shell, and do nothing. */
const ABSENT = ['docker', 'kubectl', 'sudo', 'pg_dump', 'pg_restore'];

export interface PageOptions {
  /** The address that takes the place of `https://books.example.com`. */
  readonly source: string;
  /** Of a second source, for `https://graz.example.com`. */
  readonly secondSource: string;
  readonly key: string;
  /** Without one, the page sets up the embedded Postgres, as a newcomer does. */
  readonly database: string | undefined;
  /** What the reader has done before, for example on another page. */
  readonly before: string;
}

export interface Ended {
  readonly code: number | null;
  readonly output: string;
}

/** Runs all command blocks and queries of a page, in order, in one shell and one empty folder. Ends at the first command that fails. */
export async function runPage(document: string, options: PageOptions): Promise<Ended> {
  // The embedded server runs in it.
  const folder = await makeServerFolder();
  const [programs, servers, home] = ['programs', 'servers', 'home'].map(name => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const each of [servers, home, programs]) mkdirSync(each);
  const ours = join(ROOT, 'test/docs/programs');
  for (const name of readdirSync(ours)) if (name !== 'absent') symlinkSync(join(ours, name), join(programs, name));
  for (const name of ABSENT) symlinkSync(join(ours, 'absent'), join(programs, name));

  const { PATH = '' } = process.env;
  const [servicePort, sandboxPort] = [await freePort(), await freePort()];
  const { source, secondSource, key, database } = options;
  const env: Record<string, string> = {
    PATH: `${programs}${delimiter}${PATH}`,
    REAL_PATH: PATH,
    HOME: home,
    REPOSITORY: ROOT,
    SERVERS: servers,
    PROGRAM: builtProgram(),
    SLUICE_PORT: String(servicePort),
    SOURCE_URL: source,
    SOURCE_API_KEY: key,
    SOURCE_LAG_SECONDS: '0',
    ...(database === undefined ? {} : { DATABASE_URL: database }),
  };
  const filledIn = (text: string) =>
    text
      .replaceAll(/https:\/\/(books|vienna)\.example\.com/g, source)
      .replaceAll('https://graz.example.com', secondSource)
      .replaceAll('127.0.0.1:8080', `127.0.0.1:${servicePort}`)
      .replaceAll('4010', String(sandboxPort))
      .replaceAll('"postgres://..."', `"$(sluice status --json | node -p 'JSON.parse(fs.readFileSync(0)).database')"`)
      .replaceAll(/(?<=_KEY=)\.\.\./g, key)
      .replaceAll(' /etc/', ' "$HOME"/etc/');

  const blocks = blocksOf(document);
  const scripts = runnable(blocks).map(({ language, line, code }) => ({
    line,
    code: language === 'sql' ? `sluice sql <<'END'\n${code}END\n` : filledIn(code),
  }));
  // The first block of JSON of a page about a file is the file.
  const json = filledIn(blocks.find(({ language }) => language === 'json')?.code ?? '');
  try {
    return await runShell(scriptOf(document, options.before, scripts), home, { ...env, JSON_OF_PAGE: json });
  } finally {
    await stopServers(servers);
    if (existsSync(join(home, '.sluice'))) await runShell('sluice stop-db', home, env);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** One script, so that what a block exports holds in the next; each block begins in the page's folder. */
function scriptOf(document: string, before: string, scripts: readonly Pick<Block, 'line' | 'code'>[]): string {
  const parts = [
    'set -eE -o pipefail',
    `trap 'echo "failed: $where: $BASH_COMMAND" >&2' ERR`,
    'where="preparation"',
    before,
    ...scripts.flatMap(({ line, code }) => [`cd "$HOME"; where="${document}:${line}"; echo "== $where"`, code]),
  ];
  return `${parts.join('\n')}\n`;
}

function runShell(script: string, cwd: string, env: Readonly<Record<string, string>>): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn('bash', ['-c', script], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        output += chunk;
      });
    child.on('error', reject);
    child.on('close', code => resolve({ code, output }));
  });
}

async function stopServers(folder: string): Promise<void> {
  const running = readdirSync(folder)
    .filter(name => !name.endsWith('.out'))
    .map(name => Number(readFileSync(join(folder, name), 'utf8')));
  for (const pid of running) if (isRunning(pid)) process.kill(pid, 'SIGTERM');
  while (running.some(isRunning)) await new Promise(resolve => setTimeout(resolve, 50));
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function freePort(): Promise<number> {
  return new Promise(resolve => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
      server.close(() => resolve(port));
    });
  });
}
