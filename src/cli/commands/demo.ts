import type { Command } from 'commander';
import { type Change, changeKinds } from '../../../sandbox/changes/main-changes.ts';
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts';
import { SECOND } from '../../clock.ts';
import { groupBy } from '../../engine/group-by.ts';
import { readingGrants } from '../../reading-login.ts';
import { count, plural } from '../../service/format.ts';
import { runBounded } from '../../service/query/bounded-query.ts';
import { recipeFor } from '../../service/query/cookbook.ts';
import { type Database, openDatabase } from '../../warehouse/database/database.ts';
import type { OrderKind } from '../../warehouse/ledgers/orders.ts';
import { table } from '../output/table.ts';
import { type OrderResult, readEach } from '../run/complete-orders.ts';
import { applyMigrations } from '../run/pending-migrations.ts';
import { failuresOf, type OrderSummary, summarise, summaryTable } from '../run/summary.ts';
import { type Cli, type ExitCode, newCommand, type Session } from '../session/session.ts';

export function command(cli: Cli): Command {
  return newCommand('demo', 'sluice demo').action(
    cli.action({ source: false, lists: false }, async session => {
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

/** Syncs, changes the source, syncs again, compares, and queries. */
async function showDemo(demo: Demo): Promise<ExitCode> {
  const { session, sandbox, url } = demo;
  const { terminal, clock } = session;
  const { bold, green } = terminal.colors;
  const say: Say = async (...lines) => {
    if (!terminal.json) await terminal.write(`${lines.join('\n')}\n`);
  };
  const startedAt = clock.now();

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

  const changed = changeSource(sandbox);
  const changes = changed.length;
  await say(
    bold(`3. The source changes in ${changes} places, and its API does not report where`),
    ...describeChanges(changed),
    '',
    bold('4. The next sync finds the changes'),
  );
  const second = await readSandbox(demo, 'sync');
  const sum = (of: (each: OrderSummary) => number) => second.reduce((all, each) => all + of(each), 0);
  const rows = sum(each => each.new + each.changed + each.deleted);
  await say(
    summaryTable(session, second),
    `It took ${plural(
      sum(each => each.requests),
      'request',
    )}. Only the ${plural(rows, 'row')} that differed were written.`,
    '',
    bold('5. Every row is compared with the source'),
  );
  const check = await readSandbox(demo, 'verify');
  const equal = check.every(each => each.equal);
  const verdict = 'The warehouse equals the source: every row is equal.';
  await say(equal ? green(verdict) : 'The warehouse differs from the source.', '', bold('6. Query the data with SQL'));
  const answers = await showQueries(demo, say);

  const failed = failuresOf([...first, ...second, ...check]);
  const seconds = (clock.now() - startedAt) / SECOND;
  const document = { first, changes, second, equal, answers, database: url, seconds };
  if (terminal.json) terminal.show(failed ? { ...document, error: failed } : document, () => '');
  else if (failed) terminal.note(failed.message);
  await say(...nextSteps(demo, seconds));
  return failed || !equal ? 1 : 0;
}

/** Prints lines, except with `--json`. */
type Say = (...lines: string[]) => Promise<void>;

function changeSource(sandbox: Sandbox): readonly Change[] {
  const before = sandbox.changes.length;
  for (const kind of changeKinds) sandbox.change(kind);
  sandbox.changeRandom(26);
  return sandbox.changes.slice(before);
}

async function showQueries({ session, database }: Demo, say: Say) {
  const { colors } = session.terminal;
  const answers = [];
  for (const { question, sql } of QUERIES) {
    const query = { query: sql, schema: 'warehouse', most: MOST_ROWS, signal: session.signal };
    const { columns: found, rows } = await runBounded(database, query);
    const columns = found.map(({ name }) => name);
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

const MOST_ROWS = 1000;
const QUERIES = [
  'Which customers owe us most?',
  'What were income and expenses in each of the last six months?',
  'Which invoice lines brought in most in the last year?',
].map(recipeFor);

const WORDS: Readonly<Record<string, string>> = { backdated: 'new with an old date', moved: 'moved to another date' };

/** One line per resource, e.g. `invoices: 3 new, 2 paid, 1 deleted`. */
function describeChanges(changes: readonly Change[]): string[] {
  return [...groupBy(changes, ({ resource }) => resource)].map(([resource, all]) => {
    const kinds = [...groupBy(all, ({ kind }) => kind.slice(kind.indexOf('-') + 1))];
    return `${resource}: ${kinds.map(([what, { length }]) => `${length} ${WORDS[what] ?? what}`).join(', ')}`;
  });
}

/** Completes an order of this kind for every resource. `equal`: the order found no difference. */
async function readSandbox(demo: Demo, kind: OrderKind): Promise<(OrderSummary & { equal: boolean })[]> {
  const { session, sandbox, database } = demo;
  // The sandbox answers with its latest state, so answers never lag.
  const texts = { SOURCE_URL: sandbox.url, SOURCE_API_KEY: sandbox.apiKey, SOURCE_LAG_SECONDS: '0' };
  const source = session.sourceWith(texts, 'alone');
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

/**
 * A new database on the embedded server, so that a real warehouse beside it is never touched. It stays until the next demo. `work` gets the
 * address of the login that may only read.
 */
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
    await applyMigrations(session, database, { schemas: ['warehouse'] });
    return await work(database, demoOf(readerUrl));
  } finally {
    await database.close();
  }
}
