import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createRandom } from '../../sandbox/data/random.ts';
import { openSandbox } from '../../sandbox/sandbox.ts';
import { MINUTE, SECOND } from '../../src/clock.ts';
import { createLog } from '../../src/log.ts';
import { openDatabase } from '../../src/warehouse/database/database.ts';
import { LOCK_KEY, lockName } from '../../src/warehouse/database/lock-key.ts';
import { openServer } from '../simulation/play/server.ts';
import { differences } from '../support/compare.ts';
import { inDatabase } from '../support/database.ts';
import { asAdmin } from '../support/postgres.ts';
import { MAIN, scheduled } from '../support/resources.ts';

/**
 * `npm run test:night -- [--minutes 20] [--processes 3] [--seed 1]`: as many `sluice start` as said on one database, killed at random
 * and started again, while the source changes and every resource has a slot every minute. Tells at the end whether each slot was
 * recorded and read once, whether one process at a time read, and whether the warehouse is equal to the source.
 */
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '20' },
    processes: { type: 'string', default: '3' },
    seed: { type: 'string', default: '1' },
  },
});
const [minutes, processes, seed] = [values.minutes, values.processes, values.seed].map(Number) as [
  number,
  number,
  number,
];
const random = createRandom(seed);
const KEY = 'night-key';
const LIMIT = 20_000;
const root = fileURLToPath(new URL('../..', import.meta.url));
const say = (line: string) => process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);
const wrong: string[] = [];

const built = build();
const folder = mkdtempSync(join(tmpdir(), 'sluice-night-'));
const server = await openServer();
const sandbox = await openSandbox({
  size: { customers: 300, invoices: 2000, transactions: 2000 },
  seed,
  apiKey: KEY,
  // Reading everything takes half of each minute, so that many of those that are killed are just at it.
  latencyMs: 600,
  rateLimit: LIMIT,
});
const name = `night_${process.pid}`;
await asAdmin(server.url, `create database ${name} template ${server.template}`);
const url = inDatabase(server.url, name);
const database = await openDatabase({
  url,
  applicationName: 'night',
  log: createLog({ level: 'silent' }),
});
const env = {
  PATH: process.env.PATH ?? '',
  HOME: process.env.HOME ?? '',
  SOURCE_URL: sandbox.url,
  SOURCE_API_KEY: KEY,
  SOURCE_RATE_LIMIT: String(LIMIT),
  SOURCE_TIMEOUT_SECONDS: '5',
  SOURCE_PAGE_SIZE: '50',
  SOURCE_CONCURRENCY: '2',
  DATABASE_URL: url,
  LOG_LEVEL: 'warn',
  SLUICE_PORT: '0',
  ...scheduled('* * * * *'),
};

const running = new Set<ChildProcess>();
let kills = 0;
let ending = false;
// Together, because a list that changes while it is read cannot be proven, and that is not what this is about.
const changes = setInterval(() => sandbox.changeRandom(8), 40 * SECOND);

function start(): void {
  const child = spawn(process.execPath, [join(built, 'src/main.js'), 'start'], { cwd: folder, env, stdio: 'pipe' });
  running.add(child);
  child.stdout.resume();
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    // A run that failed is told at the end.
    for (const line of text.split('\n'))
      if (/"level":(50|60)/.test(line) && !line.includes('"run"'))
        wrong.push(`A process logged: ${line.slice(0, 300)}`);
  });
  child.on('close', code => {
    running.delete(child);
    if (code !== null && !ending) wrong.push(`A process ended by itself with ${code}.`);
  });
}

/** Never the last one: then nobody would be there to record the slot of that minute. */
async function killAtRandom(until: number): Promise<void> {
  while (Date.now() < until) {
    await delay(random.int(3, 20) * SECOND);
    const victim = [...running][random.int(0, running.size - 1)];
    if (!victim || running.size < 2) continue;
    victim.kill('SIGKILL');
    kills += 1;
    await delay(random.int(0, 8) * SECOND);
    while (running.size < processes) start();
  }
}

let mostReaders = 0;
let longestAloneMs = 0;

/** Looks twice a second who reads, and for how long a run was left alone by a process that is gone. */
async function watch(signal: AbortSignal): Promise<void> {
  let aloneSince: number | null = null;
  while (!signal.aborted) {
    const { rows } = await database.query<{ readers: number; open: boolean }>(
      `select (select count(*)::int from pg_locks where locktype = 'advisory' and objsubid = 1 and granted
          and (classid::bigint << 32 | objid::bigint) = ${LOCK_KEY}
          and database = (select oid from pg_database where datname = current_database())) as readers,
        exists (select from sluice.runs where ended_at is null) as open`,
      [lockName('source', 'main')],
    );
    const { readers = 0, open = false } = rows[0] ?? {};
    mostReaders = Math.max(mostReaders, readers);
    aloneSince = open && readers === 0 ? (aloneSince ?? Date.now()) : null;
    if (aloneSince !== null) longestAloneMs = Math.max(longestAloneMs, Date.now() - aloneSince);
    await delay(500);
  }
}

try {
  say(`${processes} processes for ${minutes} minutes, seed ${seed}`);
  const until = Date.now() + minutes * MINUTE;
  for (let each = 0; each < processes; each++) start();
  const watching = new AbortController();
  const watched = watch(watching.signal);
  const told = setInterval(() => say(`${kills} kills, ${sandbox.stats.total} requests`), MINUTE);
  await killAtRandom(until);
  clearInterval(told);
  await converge();
  watching.abort();
  await watched;
  await stopAll();
  await judge();
} finally {
  ending = true;
  for (const child of running) child.kill('SIGKILL');
  await database.close();
  clearInterval(changes);
  await sandbox.close();
  await asAdmin(server.url, `drop database ${name} with (force)`);
  await server.close();
  rmSync(built, { recursive: true, force: true });
  rmSync(folder, { recursive: true, force: true });
}
for (const each of wrong) say(`WRONG: ${each}`);
say(wrong.length === 0 ? 'The night was quiet.' : `${wrong.length} things were wrong.`);
process.exitCode = wrong.length === 0 ? 0 : 1;

/** The source holds still, and the schedule alone has to bring the rest. */
async function converge(): Promise<void> {
  clearInterval(changes);
  const begun = Date.now();
  for (;;) {
    const found = await differences(database, sandbox, 3);
    if (found.length === 0) break;
    if (Date.now() - begun > 10 * MINUTE) {
      wrong.push(...found);
      return;
    }
    await delay(2 * SECOND);
  }
  say(`Equal to the source ${((Date.now() - begun) / SECOND).toFixed(0)} s after its last change.`);
}

async function stopAll(): Promise<void> {
  ending = true;
  const ended = [...running].map(child => new Promise<number | null>(resolve => child.on('close', resolve)));
  for (const child of running) child.kill('SIGTERM');
  for (const code of await Promise.all(ended)) if (code !== 0) wrong.push(`SIGTERM ended a process with ${code}.`);
}

async function judge(): Promise<void> {
  const { rows } = await database.query<{
    resource: string;
    slots: number;
    minutes: number;
    doubled: number;
    open: number;
  }>(
    `select resource, count(*)::int as slots, (extract(epoch from max(slot_at) - min(slot_at)) / 60 + 1)::int as minutes,
      (count(*) - count(distinct slot_at))::int as doubled,
      (count(*) filter (where run_id is null and slot_at < (select max(slot_at) from sluice.slots)))::int as open
     from sluice.slots group by 1 order by 1`,
  );
  for (const { resource, slots, minutes: span, doubled, open } of rows) {
    say(`${resource}: ${slots} slots in ${span} minutes, ${doubled} twice, ${open} not read`);
    if (slots !== span || doubled > 0 || open > 0)
      wrong.push(`The slots of ${resource} are not each recorded and read once.`);
  }
  if (rows.length !== MAIN.length) wrong.push('Not every resource has slots.');
  const { total, maxInWindow, rejected } = sandbox.stats;
  say(`${kills} kills; ${total} requests, at most ${maxInWindow} of ${LIMIT} in an hour, ${rejected} rejected`);
  say(
    `At most ${mostReaders} readers at a time; a run was left alone for ${(longestAloneMs / SECOND).toFixed(0)} s at most`,
  );
  if (mostReaders > 1) wrong.push('More than one process read at a time.');
  if (longestAloneMs > MINUTE + 15 * SECOND) wrong.push('A dead process was not taken over from within a minute.');
  if (rejected > 0 || maxInWindow > LIMIT) wrong.push('The limit was exceeded.');
  const { rows: failed } = await database.query<{ reason: string }>(
    "select distinct reason from sluice.runs where state = 'failed'",
  );
  for (const { reason } of failed) say(`A run failed: ${reason}`);
}

function build(): string {
  const cache = join(root, 'node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  const out = mkdtempSync(join(cache, 'sluice-night-'));
  execFileSync(process.execPath, ['build.mjs', out], { cwd: root });
  writeFileSync(join(out, 'package.json'), '{"type":"module"}');
  return out;
}
