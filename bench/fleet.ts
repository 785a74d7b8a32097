// Measures many sources on one worker process and on several: cost, fairness, and the time until all are in sync. Linux only.
//   npx tsx bench/fleet.ts [--sources 200] [--processes 1,3] [--size medium] [--minutes 15] [--schedule '*/5 * * * *'] [--connections 100]
// Each number of processes gets an empty Postgres with `--connections` and runs for `--minutes` after the migration:
// first until all sources are in sync, then on their schedules.
import { type ChildProcess, execFileSync, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { MINUTE, SECOND } from '../src/clock.ts';
import { embeddedStatus, openEmbedded, stopEmbedded } from '../src/embedded-postgres/embedded-server.ts';
import { createLog } from '../src/log.ts';
import { type Database, openDatabase } from '../src/warehouse/database/database.ts';
import { longestUnread, type Progress, readProgress, shares, slotDelays } from './fleet-fairness.ts';
import type { SandboxesWanted, SandboxOpened } from './fleet-sandboxes.ts';
import { cpuSeconds, residentMb, serverCpuSeconds, serverMb } from './fleet-usage.ts';

const { values: given } = parseArgs({
  options: {
    sources: { type: 'string', default: '200' },
    processes: { type: 'string', default: '1,3' },
    size: { type: 'string', default: 'medium' },
    minutes: { type: 'string', default: '15' },
    schedule: { type: 'string', default: '*/5 * * * *' },
    connections: { type: 'string', default: '100' },
  },
});
const SOURCES = Number(given.sources);
const SIZE = given.size as SandboxesWanted['size'];
const LONGEST_MS = Number(given.minutes) * MINUTE;
const PER_PROCESS = 50;
const SAMPLE_MS = 2 * SECOND;

const root = fileURLToPath(new URL('..', import.meta.url));
const log = createLog({ level: 'warn' });

const built = await build();
try {
  const columns = [];
  for (const count of given.processes.split(',').map(Number)) columns.push(await measure(count));
  print(columns);
} finally {
  await rm(built, { recursive: true, force: true });
}

/** Bundles Sluice, as the tests do, because the bundle is shipped. The folder must be below node_modules. */
async function build(): Promise<string> {
  const cache = join(root, 'node_modules/.cache');
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, 'sluice-fleet-'));
  execFileSync(process.execPath, ['build.mjs', folder], { cwd: root });
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  return folder;
}

interface Worker {
  readonly child: ChildProcess;
  /** Sources of which this worker ended a run. */
  readonly read: Set<string>;
  readonly runs: { count: number };
  /** Warnings and errors by their text. */
  readonly complaints: Map<string, number>;
  runningAtMs: number | null;
}

/** CPU seconds and counters so far. */
interface Spent {
  readonly atMs: number;
  readonly sluice: number;
  readonly postgres: number;
  readonly sandboxes: number;
  readonly requests: number;
  readonly rows: number;
  readonly transactions: number;
  readonly walMb: number;
}

interface Column {
  readonly processes: number;
  readonly lines: readonly (readonly [what: string, value: string])[];
}

async function measure(processes: number): Promise<Column> {
  const home = await mkdtemp(join(tmpdir(), 'sluice-fleet-'));
  // As root, the server runs as an unprivileged user, who must be able to enter the folder.
  await chmod(home, 0o755);
  const sandboxes: ChildProcess[] = [];
  const workers: Worker[] = [];
  try {
    const sources = await openSandboxes(sandboxes);
    const { url } = await openEmbedded({ dataDir: home, log, settings: { max_connections: given.connections } });
    const { pid: postmaster = 0 } = await embeddedStatus(home);
    const database = await openDatabase({ url, applicationName: 'bench', log, max: 1 });
    try {
      const env = await writeSources(home, sources, url);
      const migrating = performance.now();
      // Migrate once before the workers start; otherwise each would check the migrations in turn.
      execFileSync(process.execPath, [join(built, 'src/main.js'), 'migrate', '--json'], { env, cwd: home });
      const began = performance.now();
      const migratedSeconds = (began - migrating) / SECOND;
      for (let each = 0; each < processes; each++) workers.push(startWorker(env, home, began));
      return await watch({ processes, sources, sandboxes, workers, postmaster, database, began, migratedSeconds });
    } finally {
      for (const { child } of workers) child.kill('SIGTERM');
      for (const worker of workers) await ended(worker);
      await database.close();
    }
  } finally {
    for (const child of sandboxes) child.disconnect();
    await stopEmbedded(home);
    await rm(home, { recursive: true, force: true });
  }
}

/** Kills a process that does not drain in time. */
async function ended({ child }: Worker): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const late = setTimeout(() => child.kill('SIGKILL'), MINUTE);
  await once(child, 'exit');
  clearTimeout(late);
}

async function openSandboxes(children: ChildProcess[]): Promise<SandboxOpened[]> {
  const opened: SandboxOpened[] = [];
  for (let from = 1; from <= SOURCES; from += PER_PROCESS) {
    const child = fork(fileURLToPath(new URL('fleet-sandboxes.ts', import.meta.url)));
    children.push(child);
    child.send({ from, to: Math.min(from + PER_PROCESS - 1, SOURCES), size: SIZE } satisfies SandboxesWanted);
    const [told] = (await once(child, 'message')) as [SandboxOpened[]];
    opened.push(...told);
  }
  return opened;
}

function nameOf({ number }: SandboxOpened): string {
  return `source_${number}`;
}

/** Writes the sources file: each source has its own schema and key, and so its own budget. */
async function writeSources(home: string, sources: readonly SandboxOpened[], url: string): Promise<NodeJS.ProcessEnv> {
  const schedules = Object.fromEntries(Object.keys(sources[0]?.rows ?? {}).map(name => [name, given.schedule]));
  const list = sources.map(each => ({
    name: nameOf(each),
    url: each.url,
    api_key_from: `SOURCE_${each.number}_KEY`,
    schema: nameOf(each),
    schedules,
  }));
  await writeFile(join(home, 'sources.json'), JSON.stringify(list));
  const keys = Object.fromEntries(sources.map(each => [`SOURCE_${each.number}_KEY`, each.apiKey]));
  const { PATH = '', HOME = '' } = process.env;
  return { PATH, HOME, ...keys, DATABASE_URL: url, SLUICE_PORT: '0' };
}

function startWorker(env: NodeJS.ProcessEnv, cwd: string, began: number): Worker {
  const child = spawn(process.execPath, [join(built, 'src/main.js'), 'start'], {
    env,
    cwd,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const worker: Worker = { child, read: new Set(), runs: { count: 0 }, complaints: new Map(), runningAtMs: null };
  createInterface({ input: child.stderr }).on('line', line => {
    const said = parse(line);
    if (said.msg === 'sluice is running') worker.runningAtMs = performance.now() - began;
    if (said.kind === 'slot' && said.source) {
      worker.read.add(said.source);
      worker.runs.count++;
    }
    if (said.level < 40) return;
    const text = `${said.msg} ${said.reason ?? ''}`.replaceAll(/source_\d+/g, 'source_N').slice(0, 160);
    worker.complaints.set(text, (worker.complaints.get(text) ?? 0) + 1);
  });
  return worker;
}

function parse(line: string): { level: number; msg: string; reason?: string; kind?: string; source?: string } {
  try {
    return JSON.parse(line) as ReturnType<typeof parse>;
  } catch {
    return { level: 50, msg: line };
  }
}

async function watch(fleet: {
  processes: number;
  sources: readonly SandboxOpened[];
  sandboxes: readonly ChildProcess[];
  workers: readonly Worker[];
  postmaster: number;
  database: Database;
  began: number;
  migratedSeconds: number;
}): Promise<Column> {
  const { processes, sources, sandboxes, workers, postmaster, database, began } = fleet;
  const elapsed = () => performance.now() - began;
  const pidsOf = (children: readonly ChildProcess[]) => children.map(child => child.pid ?? 0);
  const workerPids = pidsOf(workers.map(each => each.child));
  const sumOf = (pids: readonly number[], of: (pid: number) => number) => pids.reduce((sum, pid) => sum + of(pid), 0);
  const spend = async (progress: Progress | null): Promise<Spent> => {
    const { rows } = await database.query<{ transactions: number; wal: number }>(
      `select xact_commit::float8 as transactions, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as wal
      from pg_stat_database where datname = current_database()`,
    );
    return {
      atMs: elapsed(),
      sluice: sumOf(workerPids, cpuSeconds),
      postgres: serverCpuSeconds(postmaster),
      sandboxes: sumOf(pidsOf(sandboxes), cpuSeconds),
      requests: progress?.requests ?? 0,
      rows: progress?.rows ?? 0,
      transactions: rows[0]?.transactions ?? 0,
      walMb: (rows[0]?.wal ?? 0) / 2 ** 20,
    };
  };

  const first = await spend(null);
  const inSync = new Map<string, number>();
  const history: Progress[] = [];
  const most = { connections: 0, reading: 0, rssMb: 0, postgresMb: 0 };
  let synced: Spent | null = null;
  let running: Spent | null = null;
  while (elapsed() < LONGEST_MS) {
    await delay(SAMPLE_MS);
    if (workers.every(({ child }) => child.exitCode !== null)) break;
    const used = await connections(database);
    most.connections = Math.max(most.connections, used.all);
    most.reading = Math.max(most.reading, used.reading);
    most.rssMb = Math.max(most.rssMb, sumOf(workerPids, pid => residentMb(pid).now) / processes);
    most.postgresMb = Math.max(most.postgresMb, serverMb(postmaster));
    const progress = await readProgress(database, elapsed());
    history.push(progress);
    if (workers.every(each => each.runningAtMs !== null)) running ??= await spend(progress);
    await noteInSync(database, sources, inSync, elapsed());
    if (inSync.size === sources.length) synced ??= await spend(progress);
    if (process.stderr.isTTY)
      process.stderr.write(
        `\r${Math.round(elapsed() / SECOND)} s: ${inSync.size} in sync, ${progress.requests} requests `,
      );
  }
  if (process.stderr.isTTY) process.stderr.write('\n');
  const last = await spend(history.at(-1) ?? null);
  const loading = synced ?? last;
  const half = history.find(each => each.rows >= loading.rows / 2) ?? history.at(-1);
  const unread = await longestUnread(database);
  const complaints = [...workers.flatMap(each => [...each.complaints])];
  for (const [text, count] of complaints.slice(0, 10)) console.error(`${processes} processes: ${count} x ${text}`);

  const lines: [string, string][] = [];
  const line = (what: string, value: string) => void lines.push([what, value]);
  const each = (of: (worker: Worker) => number) => workers.map(worker => String(Math.round(of(worker)))).join(', ');
  line('sluice migrate, before they begin, s', fleet.migratedSeconds.toFixed(0));
  line(
    'until each runs, s',
    each(worker => (worker.runningAtMs ?? Number.NaN) / SECOND),
  );
  line(
    'sources read by each process',
    each(worker => worker.read.size),
  );
  line(
    'runs ended by each process',
    each(worker => worker.runs.count),
  );
  line('in sync', `${inSync.size} of ${sources.length}`);
  line('until the first, half, and all are in sync, s', whenInSync(inSync, sources.length));
  lines.push(...costs('first sync', running ?? first, loading));
  if (half) {
    const show = (of: 'requests' | 'rows') => {
      const { least, greatest } = shares(half, of, sources.length);
      return `${least.toFixed(2)} .. ${greatest.toFixed(2)}`;
    };
    line('at half of it: a source’s part of the requests (1 is even)', show('requests'));
    line('at half of it: a source’s part of the rows (1 is even)', show('rows'));
  }
  line('longest that a source with something due got no request, s', unread.seconds.toFixed(1));
  if (synced && last.atMs - synced.atMs > MINUTE / 2) {
    lines.push(...costs('on schedule', synced, last));
    const slots = await slotDelays(database, last.atMs - synced.atMs);
    line('on schedule: slots, and those not read yet', `${slots.slots}, ${slots.left}`);
    line('on schedule: from the tick to its slot, at most, s', slots.recorded.toFixed(1));
    line(
      'on schedule: from the tick to the end of its run, median and most, s',
      `${slots.median.toFixed(1)}, ${slots.greatest.toFixed(1)}`,
    );
  }
  line('Postgres connections, at most; sources read at once', `${most.connections}; ${most.reading}`);
  line('memory of a process, at most, MB', Math.max(...workerPids.map(pid => residentMb(pid).peak)).toFixed(0));
  line('memory of a process per source, MB', ((most.rssMb * processes) / sources.length).toFixed(2));
  line('memory of Postgres, at most, MB', most.postgresMb.toFixed(0));
  line('memory of the sandboxes, MB', sumOf(pidsOf(sandboxes), pid => residentMb(pid).now).toFixed(0));
  line('warnings and errors in the log', String(complaints.reduce((sum, [, count]) => sum + count, 0)));
  return { processes, lines };
}

async function connections(database: Database): Promise<{ all: number; reading: number }> {
  const { rows } = await database.query<{ all: number; reading: number }>(
    `select count(*)::int as all, (count(*) filter (where application_name like 'sluice reads %'))::int as reading
    from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`,
  );
  return rows[0] ?? { all: 0, reading: 0 };
}

/** A source is in sync once each of its lists has a successful run and its tables hold as many rows as the source. */
async function noteInSync(
  database: Database,
  sources: readonly SandboxOpened[],
  inSync: Map<string, number>,
  atMs: number,
): Promise<void> {
  const lists = Object.keys(sources[0]?.rows ?? {});
  const { rows: ended } = await database.query<{ source: string }>(
    `select source from sluice.runs where state = 'done' and requests > 0 and resource = any($1)
      group by 1 having count(distinct resource) = cardinality($1)`,
    [lists],
  );
  const candidates = new Set(ended.map(row => row.source));
  for (const source of sources) {
    const name = nameOf(source);
    if (inSync.has(name) || !candidates.has(name)) continue;
    const counts = Object.keys(source.rows).map(table => `(select count(*) from ${name}.${table})::int as ${table}`);
    const { rows } = await database.query<Record<string, number>>(`select ${counts.join(', ')}`);
    if (Object.entries(source.rows).every(([table, count]) => rows[0]?.[table] === count)) inSync.set(name, atMs);
  }
}

function whenInSync(inSync: ReadonlyMap<string, number>, sources: number): string {
  const moments = [...inSync.values()].sort((a, b) => a - b).map(ms => Math.round(ms / SECOND));
  const at = (count: number) => moments[count - 1] ?? 'not yet';
  return [at(1), at(Math.ceil(sources / 2)), at(sources)].join(', ');
}

function costs(phase: string, from: Spent, to: Spent): [string, string][] {
  const seconds = (to.atMs - from.atMs) / SECOND;
  const requests = to.requests - from.requests;
  const cpu = (of: 'sluice' | 'postgres' | 'sandboxes') => {
    const spent = to[of] - from[of];
    return `${(spent / seconds).toFixed(2)} (${((1000 * spent) / Math.max(requests, 1)).toFixed(1)})`;
  };
  return [
    [`${phase}: seconds, requests, rows read`, `${Math.round(seconds)}, ${requests}, ${to.rows - from.rows}`],
    [
      `${phase}: requests/s; rows/s`,
      `${(requests / seconds).toFixed(1)}; ${Math.round((to.rows - from.rows) / seconds)}`,
    ],
    [`${phase}: cores of Sluice (ms a request)`, cpu('sluice')],
    [`${phase}: cores of Postgres (ms a request)`, cpu('postgres')],
    [`${phase}: cores of the sandboxes (ms a request)`, cpu('sandboxes')],
    [
      `${phase}: transactions/s; WAL, MB/s`,
      `${Math.round((to.transactions - from.transactions) / seconds)}; ${((to.walMb - from.walMb) / seconds).toFixed(2)}`,
    ],
  ];
}

function print(columns: readonly Column[]): void {
  const names = [...new Set(columns.flatMap(column => column.lines.map(([what]) => what)))];
  const size = `${SOURCES} ${SIZE} sources, schedule ${given.schedule}, max_connections ${given.connections}`;
  console.log(
    `| ${[size, ...columns.map(({ processes }) => `${processes} process${processes === 1 ? '' : 'es'}`)].join(' | ')} |`,
  );
  console.log(`| --- |${columns.map(() => ' --- |').join('')}`);
  for (const name of names) {
    const cells = columns.map(({ lines }) => lines.find(([what]) => what === name)?.[1] ?? '');
    console.log(`| ${[name, ...cells].join(' | ')} |`);
  }
}
