import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { delimiter, join, relative } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { openRelay, type Relay } from './relay.ts';
import { say, shell, startSandbox } from './shell.ts';

const KEY = 'sandbox-key';
const LIMIT = 1000;
const RESERVE = '80%';
const RESERVED = 800;
/** What remains: settings, declarations and a file that was asked for, and what npm keeps. */
const THEIRS = [
  '.env',
  'lists/contracts.json',
  'lists/invoices.json',
  'month.jsonl',
  'node_modules/.package-lock.json',
  'package-lock.json',
  'package.json',
];
const SERVER = join('.sluice', 'postgres');

/** All rows of all tables that the login for reading may see (not those of `notify`), and the statistics, which quote values. */
const EVERYTHING = `select string_agg(query_to_xml(format('select t::text as row from %I.%I t', table_schema, table_name), true, false, '')::text, '')
  as everything from information_schema.tables
  where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema') or table_name = 'pg_stats'`;

interface Tour {
  folder: string;
  env: NodeJS.ProcessEnv;
  sandbox: string;
  relay: Relay;
}

/** Types a command; what it prints. */
type Type = (command: string, expected?: number) => Promise<string>;

type Row = Readonly<Record<string, unknown>>;

/**
 * What makes Sluice fit an installation, as somebody does it who has read the documentation: each step types commands in
 * the folder, whose only package is Sluice, and says what came of it, after how many seconds.
 */
export async function tour(folder: string, file: string, node: string): Promise<void> {
  const env = await environment(folder, node);
  const version = (await shell(folder, 'node --version', env)).trim();
  const start = performance.now();
  await shell(folder, `npm install --no-audit --no-fund ${file}`, env);
  const sandbox = await startSandbox(folder, 'npx sluice sandbox --port 0 --variant extra-fields=yes', env);
  const relay = await openRelay(sandbox.url);
  const here = { folder, env, sandbox: sandbox.url, relay };
  say(`tour on Node ${version}`);
  try {
    await step(here, 'a first sync', firstSync);
    await step(here, 'a custom field as a column', customField);
    await step(here, 'a phone number nowhere', phoneNowhere);
    await step(here, 'a hashed e-mail that joins', hashedEmail);
    await step(here, 'another list of the source', anotherList);
    await step(here, 'a sealed month, and a restatement', sealedMonth);
    await step(here, 'a reserve that holds', reserve);
    await sandbox.stop();
    await step(here, 'an uninstall that leaves nothing', uninstall);
    say(`${seconds(start)} s  the tour on Node ${version}, with npm install`);
  } catch (error) {
    await shell(folder, 'npx sluice stop-db', env).catch(() => {});
    throw error;
  } finally {
    relay.close();
    await sandbox.stop();
  }
}

/**
 * As in a terminal, with this Node first. What a program leaves outside of the folder shows in a home and a folder of temporary files of its
 * own.
 */
async function environment(folder: string, node: string): Promise<NodeJS.ProcessEnv> {
  const binary = await shell(folder, `npx --yes --package node@${node} --call 'command -v node'`);
  const cache = await shell(folder, 'npm config get cache');
  for (const kind of ['home', 'tmp']) mkdirSync(outside(folder, kind), { mode: 0o755 });
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|SOURCES?_|SLUICE_|DATABASE_|WAREHOUSE_)/.test(name),
  );
  return {
    ...Object.fromEntries(own),
    PATH: `${join(binary.trim(), '..')}${delimiter}${process.env.PATH}`,
    HOME: outside(folder, 'home'),
    TMPDIR: outside(folder, 'tmp'),
    // What npm itself would keep there.
    npm_config_cache: cache.trim(),
    NODE_DISABLE_COMPILE_CACHE: '1',
  };
}

const outside = (folder: string, kind: string): string => `${folder}-${kind}`;

async function step(here: Tour, title: string, work: (type: Type, here: Tour) => Promise<string>): Promise<void> {
  const typed: string[] = [];
  const start = performance.now();
  const type: Type = (command, expected) => {
    typed.push(command);
    return shell(here.folder, command, here.env, expected);
  };
  const found = await work(type, here);
  say(`${seconds(start)} s  ${title}: ${found}`);
  for (const command of typed) say(`            ${command.replaceAll(/\s+/g, ' ').replace(/(.{125}).+/, '$1..')}`);
}

async function firstSync(type: Type, { relay }: Tour): Promise<string> {
  await type(`echo ${KEY} | npx sluice init --url ${relay.url}`);
  await type('npx sluice sync');
  return `${relay.count()} requests`;
}

async function customField(type: Type, here: Tour): Promise<string> {
  const expected = (await rowsOf(here, 'invoices')).length;
  const before = await type('npx sluice fields invoices');
  expect(/^currency .* text .*_extra$/m.test(before), before);
  await type('npx sluice fields add invoices currency text --description "Currency of the amounts."');
  const query = 'select currency, pg_typeof(currency)::text as type, count(*)::int as rows from invoices group by 1, 2';
  expectEqual(await sql(type, query), [{ currency: 'EUR', type: 'text', rows: expected }]);
  await type('npx sluice fields drop invoices currency');
  expectEqual(await type('npx sluice fields invoices'), before);
  return `${expected} invoices have currency EUR in a column; dropped, it is in _extra again`;
}

/** The numbers are there before, so that a search that finds nothing means something. */
async function phoneNowhere(type: Type, here: Tour): Promise<string> {
  const phones = textsOf(await rowsOf(here, 'customers'), 'phone');
  expectEqual((await found(type, here, phones)).length, phones.length);
  await type('echo SOURCE_NEVER=customers.phone >> .env');
  await type('npx sluice migrate');
  await type('npx sluice sync customers');
  expectEqual(await found(type, here, phones), []);
  return `${phones.length} numbers were stored; none is in any table, in the statistics or in a file beside the server's`;
}

/** One customer gets the address of a user, so that the two lists can be joined by it; the one it had is to be gone, too. */
async function hashedEmail(type: Type, here: Tour): Promise<string> {
  const [customers, users] = [await rowsOf(here, 'customers'), await rowsOf(here, 'users')];
  const [customer, user] = [customers[0]?.id, users[0]?.id];
  await ask(here, 'PUT', `customers/${String(customer)}`, { email: users[0]?.email });
  await type('echo SOURCE_HASH=customers.email,users.email >> .env');
  await type('echo SLUICE_HASH_KEY=$(openssl rand -hex 32) >> .env');
  await type('npx sluice migrate');
  await type('npx sluice sync customers users');
  const joined =
    'select c.id as customer, u.id as user_id, length(c.email) as digits from customers c join users u using (email)';
  expectEqual(await sql(type, joined), [{ customer, user_id: user, digits: 64 }]);
  const emails = textsOf([...customers, ...users], 'email');
  expectEqual(await found(type, here, emails), []);
  return `customer ${String(customer)} and user ${String(user)} join; none of ${emails.length} addresses is anywhere`;
}

async function anotherList(type: Type, here: Tour): Promise<string> {
  const orders = await rowsOf(here, 'orders');
  await type('npx sluice new resource /api/v2/contracts');
  await type('npx sluice sync contracts');
  const rows = await sql(type, 'select id, number, total, placed_on from contracts order by id desc');
  const expected = orders.map(({ id, number, total, placed_on }) => ({ id, number, total, placed_on }));
  expectEqual(
    rows,
    expected.sort((a, b) => Number(b.id) - Number(a.id)),
  );
  return `lists/contracts.json is all it takes; the table equals the source's ${orders.length} rows`;
}

async function sealedMonth(type: Type, here: Tour): Promise<string> {
  const month = monthBefore(new Date());
  await type(`npx sluice close ${month}`);
  const invoice = { customer_id: 1, date: `${month}-15`, items: [{ description: 'Late', amount: 99.5 }] };
  const { data } = (await (await ask(here, 'POST', 'invoices', invoice)).json()) as { data: Row };
  await type('npx sluice sync invoices');
  const shown = await type(`npx sluice close ${month}`);
  expect(new RegExp(`^invoices +${String(data.id)} +added$`, 'm').test(shown), shown);
  const query = `select resource, key, kind from restatements where month = '${month}'`;
  expectEqual(await sql(type, query), [{ resource: 'invoices', key: String(data.id), kind: 'added' }]);
  await type(`npx sluice close ${month} --export month.jsonl`);
  await type('npx sluice stop-db');
  const sent = here.relay.count();
  const checked = await type('npx sluice close --check month.jsonl');
  expect(checked.includes('The file is intact') && checked.includes('1 added'), checked);
  expectEqual([here.relay.count(), await running(here)], [sent, '']);
  return `invoice ${String(data.id)}, entered later, is shown as added; the file is proven without server and source`;
}

/** The request of `init` is none of these: it is sent before there is a database, and counts as another program's. */
async function reserve(type: Type, here: Tour): Promise<string> {
  await type(`echo SOURCE_RESERVE=${RESERVE} >> .env`);
  await type('npx sluice sync --full --no-wait', 75);
  const { budget } = JSON.parse(await type('npx sluice status --json')) as { budget: { reserve: number } };
  expectEqual(budget.reserve, RESERVED);
  const sent = here.relay.count() - 1;
  expect(sent <= LIMIT - RESERVED, `${sent} requests were sent`);
  const { headers } = await ask(here, 'GET', 'products');
  const left = Number(headers.get('x-ratelimit-remaining'));
  return `${sent} of ${LIMIT} requests sent after that of init, then it stopped (exit code 75); ${left} are left for others`;
}

async function uninstall(type: Type, here: Tour): Promise<string> {
  const shown = await type('npx sluice uninstall --dry-run');
  expect(shown.includes('Nothing was changed') && (await running(here)) !== '', shown);
  await type('npx sluice uninstall --yes');
  await type('npm uninstall sluice');
  expectEqual(await running(here), '');
  expectEqual(filesOf(here.folder).sort(), THEIRS);
  expectEqual([...filesOf(outside(here.folder, 'home')), ...filesOf(outside(here.folder, 'tmp'))], []);
  return `no process runs, no file lies elsewhere, and here are ${THEIRS.join(', ')}`;
}

/** The processes of this folder's server and commands. */
async function running({ folder, env }: Tour): Promise<string> {
  return shell(folder, `ps -eo pid,args | grep -F '${folder}/.sluice' | grep -v grep || true`, env);
}

/** Which of these texts stand in the database or in a file, but for those of the server: dead rows stay until they are vacuumed. */
async function found(type: Type, { folder }: Tour, texts: readonly string[]): Promise<string[]> {
  const everything = await type(`npx sluice sql --format csv "${EVERYTHING}"`);
  const files = filesOf(folder)
    .filter(path => !path.startsWith(SERVER) && !path.startsWith('node_modules'))
    .map(path => readFileSync(join(folder, path), 'utf8'));
  return texts.filter(each => [everything, ...files].some(text => text.includes(each)));
}

/** All below a folder, relative to it. */
function filesOf(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter(entry => !entry.isDirectory())
    .map(entry => relative(folder, join(entry.parentPath, entry.name)));
}

async function sql(type: Type, query: string): Promise<unknown> {
  return JSON.parse(await type(`npx sluice sql --format json "${query}"`));
}

/** All rows of a list, from the sandbox itself. */
async function rowsOf(here: Tour, list: string): Promise<Row[]> {
  const rows: Row[] = [];
  for (let page = 1; ; page++) {
    const answer = await ask(here, 'GET', `${list}?limit=100&page=${page}`);
    const { data } = (await answer.json()) as { data: Row[] };
    rows.push(...data);
    if (data.length < 100) return rows;
  }
}

async function ask({ sandbox }: Tour, method: string, path: string, body?: unknown): Promise<Response> {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
  const answer = await fetch(`${sandbox}/api/v2/${path}`, { method, headers, body: JSON.stringify(body) });
  expect(answer.ok, `${method} ${path} has status ${answer.status}`);
  return answer;
}

const textsOf = (rows: readonly Row[], field: string): string[] => [
  ...new Set(rows.flatMap(row => (typeof row[field] === 'string' && row[field] !== '' ? [row[field]] : []))),
];

function monthBefore(now: Date): string {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1)).toISOString().slice(0, 7);
}

function expectEqual(actual: unknown, expected: unknown): void {
  expect(isDeepStrictEqual(actual, expected), `${JSON.stringify(actual)}\nin place of ${JSON.stringify(expected)}`);
}

function expect(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise);
}

const seconds = (start: number): string => ((performance.now() - start) / 1000).toFixed(1).padStart(6);
