import type { Command } from 'commander';
import { type Change, changeKinds } from '../../../sandbox/changes/main-changes.ts';
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts';
import { HOUR, MINUTE, SECOND } from '../../clock.ts';
import type { SourceSettings } from '../../config/config.ts';
import { MOST_SWEEPS } from '../../engine/agenda/list-facts.ts';
import { readingGrants } from '../../reading-login.ts';
import { count, plural } from '../../service/format.ts';
import { recipeFor } from '../../service/query/cookbook.ts';
import { type Database, openDatabase } from '../../warehouse/database/database.ts';
import type { OrderKind } from '../../warehouse/ledgers/orders.ts';
import { readQuery } from '../../warehouse/reports/read-query.ts';
import { table } from '../output/table.ts';
import { applyMigrations } from '../run/pending-migrations.ts';
import type { OrderResult } from '../run/read-source.ts';
import { readEach } from '../run/read-sources.ts';
import { failuresOf, type OrderSummary, summarise, summaryTable } from '../run/summary.ts';
import { type Cli, newCommand, type Outcome, type Session } from '../session/session.ts';
import type { OpenSource } from '../session/source-settings.ts';

export function demoCommand(cli: Cli): Command {
  return newCommand(
    'demo',
    'See Sluice at work in half a minute on made-up data; your own data is not touched',
    'sluice demo',
  ).action(
    cli.action({ source: false }, async session => {
      const sandbox = await openSandbox({ size: 'small', seed: 7 });
      try {
        return await withDemoDatabase(session, (database, url) => showDemo({ session, sandbox, database, url }));
      } finally {
        await sandbox.close();
      }
    }),
  );
}

interface Demo {
  readonly session: Session;
  readonly sandbox: Sandbox;
  readonly database: Database;
  /** Of the database, with its password. */
  readonly url: string;
}

/** Prints lines, except with `--json`. */
type Say = (...lines: string[]) => Promise<void>;

/** Syncs, changes the source, syncs again, compares, and queries. */
async function showDemo(demo: Demo): Promise<Outcome> {
  const { session, url } = demo;
  const { terminal, clock } = session;
  const say: Say = async (...lines) => {
    if (!terminal.json) await terminal.write(`${lines.join('\n')}\n`);
  };
  const startedAt = clock.now();
  const first = await showFirstSync(demo, say);
  const changes = await changeSource(demo, say);
  const second = await showSecondSync(demo, say);
  await say(terminal.colors.bold('5. Every row is compared with the source'));
  const check = await readSandbox(demo, 'verify');
  const equal = check.every(each => each.equal);
  await say(
    equal
      ? terminal.colors.green('The warehouse equals the source: every row is equal.')
      : 'The warehouse differs from the source.',
    '',
  );
  const answers = await showQueries(demo, say);
  const failed = failuresOf([...first, ...second, ...check]);
  const seconds = (clock.now() - startedAt) / SECOND;
  if (terminal.json) {
    const document = { first, changes, second, equal, answers, database: url, seconds };
    terminal.show(failed ? { ...document, error: failed } : document, () => '');
  }
  if (failed && !terminal.json) terminal.note(failed.message);
  await say(...nextSteps(demo, seconds));
  return failed || !equal ? 1 : 0;
}

async function showFirstSync(demo: Demo, say: Say): Promise<OrderSummary[]> {
  const { session, sandbox } = demo;
  const { bold } = session.terminal.colors;
  const { customers, invoices, transactions } = sandbox.data;
  await say(
    bold('1. A business suite'),
    `A simulated one runs in this process, with ${plural(customers.size, 'customer')}, ${plural(invoices.size, 'invoice')} and ${plural(transactions.size, 'transaction')}.`,
    'Like the real one, it can only be read page by page, with 1,000 requests an hour.',
    '',
    bold('2. The first sync reads everything into Postgres'),
  );
  const first = await readSandbox(demo, 'sync');
  await say(summaryTable(session, first), '');
  return first;
}

async function changeSource({ session, sandbox }: Demo, say: Say): Promise<number> {
  const before = sandbox.changes.length;
  for (const kind of changeKinds) sandbox.change(kind);
  sandbox.changeRandom(26);
  const changes = sandbox.changes.slice(before);
  await say(
    session.terminal.colors.bold(
      `3. The source changes in ${changes.length} places, and its API does not report where`,
    ),
    ...describeChanges(changes),
    '',
  );
  return changes.length;
}

async function showSecondSync(demo: Demo, say: Say): Promise<OrderSummary[]> {
  const { session } = demo;
  await say(session.terminal.colors.bold('4. The next sync finds the changes'));
  const second = await readSandbox(demo, 'sync');
  const requests = second.reduce((sum, each) => sum + each.requests, 0);
  const rows = second.reduce((sum, each) => sum + each.new + each.changed + each.deleted, 0);
  await say(
    summaryTable(session, second),
    `It took ${plural(requests, 'request')}. Only the ${plural(rows, 'row')} that differed were written.`,
    '',
  );
  return second;
}

async function showQueries({ session, database }: Demo, say: Say) {
  const { colors } = session.terminal;
  await say(colors.bold('6. Query the data with SQL'));
  const answers = [];
  for (const { question, sql } of QUERIES) {
    const rows: (string | null)[][] = [];
    let columns: string[] = [];
    const query = { query: sql, schema: 'warehouse', timeoutMs: MINUTE, signal: session.signal };
    await readQuery(database, query, async (fields, batch) => {
      columns = fields.map(field => field.name);
      for (const row of batch) rows.push([...row]);
      return true;
    });
    answers.push({ question, sql, columns, rows });
    const right = columns.map((_, index) => index).slice(1);
    await say(colors.cyan(question), colors.dim(sql), table(colors, columns, rows, { right }), '');
  }
  return answers;
}

function nextSteps({ session, url }: Demo, seconds: number): string[] {
  const { bold, dim } = session.terminal.colors;
  const command = (text: string, about: string) => `  ${text.padEnd(49)}${dim(about)}`;
  return [
    bold('7. Your turn'),
    'Explore the tables, such as warehouse.invoices, with psql or any BI tool:',
    `  psql "${url}"`,
    'They stay until the next demo.',
    '',
    'Read your own source:',
    command('npx sluice init', 'ask for its address and key, and test them'),
    command('npx sluice sync', 'read it once'),
    command('npx sluice start', 'keep the warehouse equal to it'),
    '',
    'The embedded Postgres server keeps running in the background:',
    command('npx sluice stop-db', 'stop it'),
    '',
    dim(`The demo took ${count(Math.round(seconds))} seconds.`),
  ];
}

const QUERIES = [
  'Which customers owe us most?',
  'What were income and expenses in each of the last six months?',
  'Which invoice lines brought in most in the last year?',
].map(recipeFor);

const WORDS: Readonly<Record<string, string>> = { backdated: 'new with an old date', moved: 'moved to another date' };

/** One line per resource, e.g. `invoices: 3 new, 2 paid, 1 deleted`. */
function describeChanges(changes: readonly Change[]): string[] {
  const all = new Map<string, Map<string, number>>();
  for (const { resource, kind } of changes) {
    const what = kind.slice(kind.indexOf('-') + 1);
    const kinds = all.get(resource) ?? new Map<string, number>();
    all.set(resource, kinds.set(what, (kinds.get(what) ?? 0) + 1));
  }
  return [...all].map(
    ([resource, kinds]) =>
      `${resource}: ${[...kinds].map(([what, times]) => `${times} ${WORDS[what] ?? what}`).join(', ')}`,
  );
}

/** Completes an order of this kind for every resource. `equal`: the order found no difference. */
async function readSandbox(demo: Demo, kind: OrderKind): Promise<(OrderSummary & { equal: boolean })[]> {
  const { session, sandbox, database } = demo;
  const settings: SourceSettings = {
    url: sandbox.url,
    apiKey: sandbox.apiKey,
    auth: 'bearer',
    pageSize: 'auto',
    limit: 1000,
    windowMs: HOUR,
    concurrency: 4,
    timeoutMs: 30 * SECOND,
    // The sandbox answers with its latest state.
    lagMs: 0,
    never: [],
    timeZone: 'UTC',
  };
  const source: OpenSource = {
    ...settings,
    name: 'main',
    schema: 'warehouse',
    addressFile: null,
    settings,
    schedules: {},
    scheduleTimeZone: 'UTC',
    weights: {},
    targetMinutes: {},
    history: {},
    currency: null,
    mostSweeps: MOST_SWEEPS,
  };
  const requests = [...session.jobs.keys()].map(resource => ({ resource, kind }));
  const { results } = await readEach(session, { database, sources: [source], noWait: true }, requests);
  return results.map(each => ({ ...summarise(each), equal: isEqual(each) }));
}

function isEqual({ order }: OrderResult): boolean {
  const report = (order.report ?? {}) as Record<string, readonly string[]>;
  return order.state === 'done' && Object.values(report).every(keys => keys.length === 0);
}

const NAME = 'sluice_demo';

const demoOf = (url: string): string => Object.assign(new URL(url), { pathname: `/${NAME}` }).href;

/** A new database on the embedded server, so that a real warehouse beside it is never touched. It stays until the next demo. `work` gets the address of the login that may only read. */
async function withDemoDatabase<T>(
  session: Session,
  work: (database: Database, url: string) => Promise<T>,
): Promise<T> {
  const admin = await session.openDatabase({ embedded: true });
  await admin.query(`drop database if exists ${NAME} with (force)`);
  await admin.query(`create database ${NAME}`);
  await admin.query(`revoke temporary on database ${NAME} from public`);
  const database = await openDatabase({ url: demoOf(admin.url), applicationName: 'sluice demo', log: session.log });
  try {
    const readerUrl = admin.readerUrl ?? admin.url;
    await database.query(readingGrants(new URL(readerUrl).username));
    await applyMigrations(session, database, ['warehouse']);
    return await work(database, demoOf(readerUrl));
  } finally {
    await database.close();
  }
}
