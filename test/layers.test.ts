import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

type Layer =
  | 'jobs'
  | 'migrations'
  | 'leaves'
  | 'config'
  | 'budget'
  | 'source'
  | 'warehouse'
  | 'embedded-postgres'
  | 'engine'
  | 'push'
  | 'service'
  | 'sandbox'
  | 'cli'
  | 'main';

/** What each folder may import of ours (beside itself), and which packages. Node's own modules are everybody's. */
const LAYERS: Record<Layer, { ours: readonly (Layer | `${string}.ts`)[]; packages: readonly string[] }> = {
  jobs: { ours: ['src/engine/job.ts'], packages: ['zod'] },
  migrations: { ours: [], packages: ['kysely'] },
  leaves: { ours: [], packages: ['pino', 'pino-pretty'] },
  config: { ours: ['leaves'], packages: ['zod'] },
  // The slices, the loss limit, and what a rewrite and a restore are, are pure leaves: what both the engine and the warehouse speak of. The history view is also made by a migration.
  warehouse: {
    ours: [
      'leaves',
      'src/engine/slices/slice.ts',
      'src/engine/slices/coverage-entry.ts',
      'src/engine/deletion/loss-limit.ts',
      'src/engine/deletion/restore.ts',
      'src/engine/deletion/rewrite.ts',
      'migrations/create-history-view.ts',
    ],
    packages: ['kysely', 'pg', 'pg-cursor', 'pg-copy-streams'],
  },
  budget: { ours: ['warehouse', 'leaves'], packages: ['bottleneck'] },
  source: { ours: ['budget', 'leaves'], packages: ['undici', 'zod', 'lossless-json'] },
  'embedded-postgres': { ours: ['leaves'], packages: ['pg'] },
  engine: { ours: ['source', 'budget', 'warehouse', 'leaves'], packages: ['p-limit', 'zod'] },
  push: { ours: ['engine', 'source', 'budget', 'warehouse', 'leaves'], packages: ['p-limit', 'zod'] },
  service: {
    ours: ['engine', 'budget', 'warehouse', 'leaves'],
    packages: [
      'hono',
      '@hono/node-server',
      'prom-client',
      'node-cron',
      'p-limit',
      'csv-stringify',
      'zod',
      'undici',
      'standardwebhooks',
    ],
  },
  sandbox: { ours: ['leaves'], packages: ['hono', '@hono/node-server', 'zod'] },
  cli: {
    ours: [
      'src/config/changed-file.ts',
      'src/config/config.ts',
      'src/config/list-files.ts',
      'src/config/receivers-file.ts',
      'src/config/reserve.ts',
      'src/config/setting-file.ts',
      'engine',
      'push',
      'source',
      'budget',
      'warehouse',
      'embedded-postgres',
      'service',
      'sandbox',
      'leaves',
    ],
    packages: [
      'commander',
      'cli-progress',
      'picocolors',
      'cli-table3',
      'csv-parse',
      'string-width',
      'p-limit',
      'hyparquet-writer',
      'yaml',
      '@clack/prompts',
      '@modelcontextprotocol/sdk',
      'zod',
    ],
  },
  main: {
    ours: [
      'config',
      'src/cli/program.ts',
      'src/cli/session/check-settings.ts',
      'src/cli/session/load-jobs.ts',
      'src/cli/session/session.ts',
      'src/cli/session/shell.ts',
      'src/cli/session/source-jobs.ts',
      'src/cli/session/terminal.ts',
      'src/engine/job.ts',
      'service',
      'warehouse',
      'embedded-postgres',
      'leaves',
    ],
    packages: ['commander'],
  },
};

/** The rooms within a layer, in steps: a room may import those of earlier steps, and no other of its own step. */
const LADDERS: Record<string, readonly (readonly string[])[]> = {
  'src/budget': [
    ['budget.ts'],
    ['policy.ts', 'forecast.ts', 'concurrency.ts', 'server-window.ts'],
    ['limiter.ts', 'memory-budget.ts'],
    ['ledger'],
  ],
  'src/source': [['answers'], ['api', 'http', 'paging'], ['requests'], ['client.ts'], ['public']],
  'src/engine': [
    ['slices', 'storable-text.ts', 'group-by.ts'],
    ['job.ts'],
    ['records', 'profile'],
    ['coverage'],
    ['deletion'],
    ['agenda'],
    ['resource.ts'],
    ['task'],
    ['read'],
    ['conclude'],
    ['changes'],
    ['apply'],
    ['run'],
  ],
  'src/service': [
    ['format.ts', 'html-document.ts', 'shared-run.ts'],
    ['access', 'health', 'query', 'schedule', 'status'],
    ['notify'],
    ['incidents', 'webhooks', 'orders', 'record'],
    ['answers'],
    ['metrics', 'console'],
    ['service.ts'],
  ],
  'src/warehouse': [['database'], ['ledgers'], ['rows'], ['erasure', 'pushes', 'reports']],
  sandbox: [
    ['data'],
    ['envelopes'],
    ['faults'],
    ['variants'],
    ['changes', 'lists', 'parse', 'rate-limit'],
    ['timeline'],
    ['http'],
    ['sandbox.ts'],
  ],
  'src/cli': [['session'], ['output'], ['run'], ['lists', 'push'], ['commands'], ['program.ts']],
};

/** The only files of a layer that a room may import: the source's client, for one, must not see the store in Postgres. */
const ONLY: readonly { from: string; of: Layer; files: readonly string[] }[] = [
  { from: 'src/source/answers/', of: 'budget', files: [] },
  { from: 'src/source/api/', of: 'budget', files: [] },
  { from: 'src/source/http/', of: 'budget', files: [] },
  { from: 'src/source/requests/', of: 'budget', files: ['src/budget/budget.ts', 'src/budget/limiter.ts'] },
  {
    from: 'src/source/client.ts',
    of: 'budget',
    files: ['src/budget/budget.ts', 'src/budget/server-window.ts', 'src/budget/limiter.ts'],
  },
  { from: 'src/source/public/', of: 'budget', files: ['src/budget/memory-budget.ts'] },
  ...['budget', 'policy', 'forecast', 'concurrency', 'server-window', 'limiter', 'memory-budget'].map(name => ({
    from: `src/budget/${name}.ts`,
    of: 'warehouse' as const,
    files: [],
  })),
];

const PURE_BELOW = ['src/clock.ts', 'src/engine/group-by.ts', 'src/engine/job.ts', 'src/engine/slices/'];

/** Rooms that only decide: all they may import of ours beside themselves, and of Node no more than `node:crypto`. */
const PURE: Record<string, readonly string[]> = {
  'src/source/paging/': [],
  'src/engine/slices/': ['src/clock.ts', 'src/errors.ts'],
  'src/engine/profile/': [...PURE_BELOW, 'src/source/answers/values.ts', 'src/source/paging/'],
  'src/engine/coverage/': [...PURE_BELOW, 'src/engine/profile/'],
  'src/engine/deletion/': [...PURE_BELOW, 'src/engine/profile/', 'src/engine/coverage/', 'src/source/paging/'],
  'src/engine/agenda/': [
    ...PURE_BELOW,
    'src/engine/profile/',
    'src/engine/coverage/',
    'src/engine/deletion/',
    'src/source/paging/',
    // The type of a missing row.
    'src/warehouse/rows/missing-rows.ts',
  ],
};

/** Packages that one file of a layer keeps to itself. */
const KEPT_BY: Record<string, string> = {
  pino: 'src/log.ts',
  'pino-pretty': 'src/log.ts',
  standardwebhooks: 'src/service/notify/deliver-next.ts',
  bottleneck: 'src/budget/limiter.ts',
};
const LEAVES = [
  'src/errors.ts',
  'src/log.ts',
  'src/clock.ts',
  'src/loopback.ts',
  'src/receivers.ts',
  'src/next-steps.ts',
  'src/nearest-name.ts',
  'src/version.ts',
  'src/any-signal.ts',
  'src/visible-text.ts',
  'src/reading-login.ts',
];
const FOLDERS = [
  'config',
  'budget',
  'source',
  'warehouse',
  'embedded-postgres',
  'engine',
  'push',
  'service',
  'cli',
] as const;
const FORBIDDEN_FOLDERS = ['utils', 'helpers', 'lib', 'common', 'types', 'models', 'repositories'];
/** Where a resource is known only by its declaration. */
const NAMELESS: readonly (Layer | undefined)[] = ['engine', 'push', 'source', 'budget', 'warehouse', 'service'];

const MAIN = ['src/main.ts', 'src/run-program.ts', 'src/open-session.ts'];

/** Path below the root to text. */
type Files = ReadonlyMap<string, string>;

const withoutComments = (text: string) => text.replaceAll(/^\s*(\/?\*|\/\/).*$/gm, '');

function layerOf(path: string): Layer | undefined {
  if (LEAVES.includes(path)) return 'leaves';
  if (MAIN.includes(path)) return 'main';
  if (path.startsWith('jobs/')) return 'jobs';
  if (path.startsWith('migrations/')) return 'migrations';
  if (path.startsWith('sandbox/')) return 'sandbox';
  return FOLDERS.find(folder => path.startsWith(`src/${folder}/`));
}

/** On which step of a ladder a file's room stands; -1 for a room that the ladder does not name. */
function stepOf(folder: string, path: string): { room: string; step: number } | undefined {
  if (!path.startsWith(`${folder}/`)) return undefined;
  const room = path.slice(folder.length + 1).split('/', 1)[0] as string;
  return { room, step: (LADDERS[folder] ?? []).findIndex(rooms => rooms.includes(room)) };
}

function climbs(path: string, target: string): boolean {
  return Object.keys(LADDERS).some(folder => {
    const [from, to] = [stepOf(folder, path), stepOf(folder, target)];
    return from !== undefined && to !== undefined && from.room !== to.room && to.step >= from.step;
  });
}

const isKeptFrom = (path: string, target: string): boolean =>
  ONLY.some(({ from, of, files }) => path.startsWith(from) && layerOf(target) === of && !files.includes(target));

const IMPORT = /(?:^|\n)\s*(?:import|export)\s(?:[^'";]*?\sfrom\s*)?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/g;

const importsOf = (text: string): string[] => [...text.matchAll(IMPORT)].map(match => (match[1] ?? match[2]) as string);
const resolveImport = (path: string, specifier: string) => normalize(join(dirname(path), specifier));
/** A room that only decides may not import this. */
function impure(path: string, specifier: string): boolean {
  const room = Object.keys(PURE).find(each => path.startsWith(each));
  if (room === undefined) return false;
  if (!specifier.startsWith('.')) return specifier !== 'node:crypto';
  const target = resolveImport(path, specifier);
  return ![room, ...(PURE[room] ?? [])].some(each => target.startsWith(each));
}
const packageOf = (specifier: string) =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

function breaches(files: Files): string[] {
  const found: string[] = [];
  const jobs = [...files.keys()].filter(path => path.startsWith('jobs/')).map(path => path.slice(5, -3));
  const named = new RegExp(`(['"\`])(?:${jobs.join('|')})\\1`);
  for (const [path, text] of files) {
    const layer = layerOf(path);
    const { ours, packages } = layer ? LAYERS[layer] : { ours: [], packages: [] };
    const product = /^(src|sandbox|jobs|migrations)\//.test(path);
    if (product && !layer) found.push(`${path} belongs to no layer`);
    for (const folder of Object.keys(LADDERS))
      if (stepOf(folder, path)?.step === -1) found.push(`${path} belongs to no room of ${folder}`);
    if (!isKebab(path)) found.push(`${path} is not named in kebab-case`);
    if (/(^|\/)index\.ts$/.test(path)) found.push(`${path} is a barrel`);
    for (const folder of FORBIDDEN_FOLDERS)
      if (path.split('/').slice(0, -1).includes(folder)) found.push(`${path} lies in a folder named ${folder}`);
    for (const specifier of importsOf(text)) {
      if (impure(path, specifier)) found.push(`${path} only decides, and imports ${specifier}`);
      if (specifier.startsWith('.')) {
        const target = resolveImport(path, specifier);
        if (path === 'src/version.ts' && target === 'package.json') continue;
        if (!specifier.endsWith('.ts')) found.push(`${path} imports ${specifier}, which does not end in .ts`);
        else if (!files.has(target)) found.push(`${path} imports ${specifier}, which does not exist`);
        if (!product) continue;
        const other = layerOf(target);
        const allowed = ours.some(each => each === other || each === target);
        const own = other === layer && layer !== 'jobs' && (layer !== 'migrations' || isMigrationHelper(target));
        if ((!own && !allowed) || climbs(path, target) || isKeptFrom(path, target))
          found.push(`${path} imports ${target}`);
      } else if (product && !specifier.startsWith('node:')) {
        const name = packageOf(specifier);
        if (!packages.includes(name) || (KEPT_BY[name] ?? path) !== path) found.push(`${path} imports package ${name}`);
      }
    }
    if (path !== 'src/main.ts' && product && /\bprocess\.exit\s*\(/.test(text))
      found.push(`${path} calls process.exit`);
    // Examples of queries are about lists.
    const isNameless = NAMELESS.includes(layer) && path !== 'src/service/query/cookbook.ts';
    if (isNameless && named.test(withoutComments(text))) found.push(`${path} names a resource`);
  }
  return [...found, ...cycles(files).map(cycle => `import cycle: ${cycle.join(' -> ')}`)];
}

/** What migrations share stands beside their folders; a migration that ran must not change with it in meaning. */
const isMigrationHelper = (path: string): boolean => /^migrations\/[^/]+$/.test(path);

function isKebab(path: string): boolean {
  const name = path.split('/').at(-1) ?? '';
  if (path.startsWith('migrations/') && !isMigrationHelper(path))
    return /^\d{4}_[a-z0-9]+(_[a-z0-9]+)*\.ts$/.test(name);
  // A job is named as its table.
  if (path.startsWith('jobs/')) return /^[a-z]+(_[a-z]+)*\.ts$/.test(name);
  return /^[a-z0-9]+(-[a-z0-9]+)*((\.contract|\.long)?\.test|\.config|\.d)?\.ts$/.test(name);
}

/** One cycle for each import that leads back to a file on the way to it; imports of types alone count too. */
function cycles(files: Files): string[][] {
  const found: string[][] = [];
  const done = new Set<string>();
  const way: string[] = [];
  const visit = (path: string) => {
    if (way.includes(path)) {
      found.push([...way.slice(way.indexOf(path)), path]);
      return;
    }
    if (done.has(path)) return;
    way.push(path);
    for (const specifier of importsOf(files.get(path) ?? ''))
      if (specifier.startsWith('.')) visit(resolveImport(path, specifier));
    way.pop();
    done.add(path);
  };
  for (const path of files.keys()) visit(path);
  return found;
}

function readAll(...folders: string[]): Files {
  const files = new Map<string, string>();
  for (const folder of folders) {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true, recursive: true })) {
      if (!entry.isFile() || !entry.name.endsWith('.ts')) continue;
      const path = join(entry.parentPath, entry.name);
      files.set(relative(root, path), readFileSync(path, 'utf8'));
    }
  }
  return files;
}

test('every import keeps to the table, and nothing else of the layout is broken', () => {
  const files = readAll('src', 'sandbox', 'jobs', 'migrations', 'public-types', 'test', 'bench');
  expect(files.size).toBeGreaterThan(100);
  expect(breaches(files)).toEqual([]);
});

test('nothing in source reaches the warehouse, whatever it imports', () => {
  const files = readAll('src', 'sandbox');
  const reached = new Map([...files.keys()].filter(path => layerOf(path) === 'source').map(path => [path, path]));
  for (const [path, way] of reached)
    for (const specifier of importsOf(files.get(path) ?? '').filter(each => each.startsWith('.'))) {
      const target = resolveImport(path, specifier);
      if (!reached.has(target)) reached.set(target, `${way} -> ${target}`);
    }
  expect(reached.size).toBeGreaterThan(30);
  expect([...reached].filter(([path]) => layerOf(path) === 'warehouse').map(([, way]) => way)).toEqual([]);
});

test('every layer of the table has its folder in the rules, and every package it names is installed or planned', () => {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const planned = ['pg-copy-streams', 'uplot'];
  const owned = new Set(Object.values(LAYERS).flatMap(layer => layer.packages));
  expect([...owned].filter(name => !(name in dependencies) && !planned.includes(name))).toEqual([]);
  expect(Object.keys(dependencies).filter(name => !owned.has(name))).toEqual([]);
});

describe('each rule can be broken', () => {
  const sound: Record<string, string> = {
    'src/errors.ts': '',
    'src/log.ts': `import { pino } from 'pino';\nimport { a } from './errors.ts';`,
    'src/config/read-config.ts': `import { z } from 'zod';`,
    'src/main.ts': `import { config } from './config/read-config.ts';\nimport { createProgram } from './cli/program.ts';\nprocess.exit(0);`,
    'src/engine/job.ts': '',
    'src/engine/run/loop.ts': `import type { Rows } from '../../warehouse/rows/rows.ts';\nimport { ask } from '../../source/client.ts';`,
    'src/cli/session/session.ts': '',
    'src/cli/commands/sync.ts': `import type { Session } from '../session/session.ts';`,
    'src/cli/commands/verify.ts': '',
    'src/cli/push/report.ts': '',
    'src/cli/program.ts': `import { sync } from './commands/sync.ts';`,
    'src/source/client.ts': `import { request } from 'undici';`,
    'src/warehouse/database/database.ts': '',
    'src/warehouse/ledgers/runs.ts': `import type { Db } from '../database/database.ts';`,
    'src/warehouse/rows/rows.ts': `import { sql } from 'kysely';`,
    'src/warehouse/reports/report.ts': `import { rows } from '../rows/rows.ts';`,
    'src/service/access/guard.ts': '',
    'src/service/status/status.ts': '',
    'src/service/console/page.ts': `import type { Status } from '../status/status.ts';`,
    'src/service/service.ts': `import { page } from './console/page.ts';`,
    'src/source/answers/json.ts': '',
    'src/source/api/rows.ts': `import { parse } from '../answers/json.ts';`,
    'src/source/http/exchange.ts': '',
    'src/budget/budget.ts': '',
    'src/budget/limiter.ts': `import Bottleneck from 'bottleneck';\nimport type { Budget } from './budget.ts';`,
    'src/budget/ledger/ledger.ts': `import type { Budget } from '../budget.ts';\nimport { rows } from '../../warehouse/rows/rows.ts';`,
    'sandbox/data/table.ts': '',
    'sandbox/lists/paging.ts': `import { table } from '../data/table.ts';`,
    'sandbox/changes/edits.ts': '',
    'sandbox/http/app.ts': `import { Hono } from 'hono';`,
    'jobs/customers.ts': `import { z } from 'zod';\nimport { defineJob } from '../src/engine/job.ts';`,
    'migrations/warehouse/0001_first.ts': `import { sql } from 'kysely';`,
  };
  const broken = (path: string, text: string) => breaches(new Map(Object.entries({ ...sound, [path]: text })));

  test('a sound tree breaks none', () => {
    expect(breaches(new Map(Object.entries(sound)))).toEqual([]);
  });

  test.each([
    ['source sees warehouse', 'src/source/client.ts', `import { rows } from '../warehouse/rows/rows.ts';`],
    ['warehouse sees engine, by a type', 'src/warehouse/rows/x.ts', `import type { Job } from '../../engine/job.ts';`],
    ['sandbox sees source', 'sandbox/http/app.ts', `import { ask } from '../../src/source/client.ts';`],
    ['a room of the sandbox sees one above it', 'sandbox/data/rows.ts', `import { page } from '../lists/paging.ts';`],
    [
      'a room of the sandbox sees one on its step',
      'sandbox/changes/webhooks.ts',
      `import type { Page } from '../lists/paging.ts';`,
    ],
    ['a loose file of the sandbox that the ladder does not name', 'sandbox/random.ts', ''],
    ['a leaf sees engine', 'src/errors.ts', `import {\n  a,\n} from './engine/job.ts';`],
    ['a job sees more than the vocabulary', 'jobs/other.ts', `import { run } from '../src/engine/run/loop.ts';`],
    ['a job sees another job', 'jobs/other.ts', `import customers from './customers.ts';`],
    [
      'a migration sees ours',
      'migrations/warehouse/0002_more.ts',
      `import { sql } from '../../src/warehouse/rows/rows.ts';`,
    ],
    ['engine uses kysely', 'src/engine/run/loop.ts', `import { sql } from 'kysely';`],
    ['engine uses a subpath of pg', 'src/engine/run/loop.ts', `import x from 'pg/lib/utils.js';`],
    ['engine logs by itself', 'src/engine/run/loop.ts', `import { pino } from 'pino';`],
    ['a leaf other than log uses pino', 'src/errors.ts', `import { pino } from 'pino';`],
    ['an import at run time', 'src/engine/run/loop.ts', `const x = await import('undici');`],
    ['a room that only decides reads a file', 'src/source/paging/page.ts', `import { readFile } from 'node:fs';`],
    ['a room that only decides writes to the log', 'src/source/paging/page.ts', `import { log } from '../../log.ts';`],
    ['a re-export', 'src/engine/run/loop.ts', `export * from '../../cli/program.ts';`],
    [
      'another than main reads the settings',
      'src/cli/commands/sync.ts',
      `import type { Config } from '../../config/read-config.ts';`,
    ],
    [
      'a room of the service sees one above it',
      'src/service/access/guard.ts',
      `import { page } from '../console/page.ts';`,
    ],
    ['a room sees one on its step', 'src/service/status/status.ts', `import { guard } from '../access/guard.ts';`],
    ['a loose file that the ladder does not name', 'src/service/odds.ts', ''],
    [
      'a room of the command line sees one above it',
      'src/cli/session/session.ts',
      `import { table } from '../push/report.ts';`,
    ],
    ['a room of the command line that the ladder does not name', 'src/cli/odds/ends.ts', ''],
    ['main sees a command', 'src/main.ts', `import { sync } from './cli/commands/sync.ts';`],
    ['a room of source sees one above it', 'src/source/answers/json.ts', `import { a } from '../http/exchange.ts';`],
    ['a room of source sees one on its step', 'src/source/api/rows.ts', `import { a } from '../http/exchange.ts';`],
    ['a file of source belongs to no room', 'src/source/odds.ts', ''],
    [
      'source sees the store in Postgres',
      'src/source/client.ts',
      `import { createLedger } from '../budget/ledger/ledger.ts';`,
    ],
    ['an answer sees the budget', 'src/source/answers/json.ts', `import { a } from '../../budget/budget.ts';`],
    [
      'a file of the budget sees one above it',
      'src/budget/policy.ts',
      `import { createLedger } from './ledger/ledger.ts';`,
    ],
    ['the limiter sees warehouse', 'src/budget/limiter.ts', `import { rows } from '../warehouse/rows/rows.ts';`],
    ['another than the limiter uses bottleneck', 'src/budget/ledger/ledger.ts', `import Bottleneck from 'bottleneck';`],
    ['another than main exits', 'src/engine/run/loop.ts', 'process.exit(1);'],
    ['a ledger sees the rows', 'src/warehouse/ledgers/runs.ts', `import { rows } from '../rows/rows.ts';`],
    ['a push sees a report', 'src/warehouse/pushes/x.ts', `import { report } from '../reports/report.ts';`],
    ['a file outside of every room', 'src/warehouse/loose.ts', ''],
    ['a barrel', 'src/engine/run/index.ts', ''],
    ['a folder of odds and ends', 'src/engine/run/utils/text.ts', ''],
    ['a name in camel case', 'src/engine/run/nextSlice.ts', ''],
    ['a file outside of every layer', 'src/other.ts', ''],
    ['an import without .ts', 'src/engine/run/loop.ts', `import { ask } from '../../source/client.js';`],
    ['an import of what is not there', 'src/engine/run/loop.ts', `import { ask } from '../../source/gone.ts';`],
    ['a cycle', 'src/engine/run/loop.ts', `import type { Loop } from './loop.ts';`],
    ['the engine tests the name of a job', 'src/engine/run/loop.ts', `if (name === 'customers') throw new Error();`],
  ])('%s', (_name, path, text) => {
    expect(broken(path, text)).toHaveLength(1);
  });
});
