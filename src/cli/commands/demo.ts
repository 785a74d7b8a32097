import type { Command } from 'commander';
import { HOUR, SECOND } from '../../clock.ts';
import { type Change, changeKinds } from '../../sandbox/changes/main-changes.ts';
import { openSandbox, type Sandbox } from '../../sandbox/sandbox.ts';
import { count, plural } from '../../service/format.ts';
import { type Database, openDatabase } from '../../warehouse/database/database.ts';
import { migrate } from '../../warehouse/database/migrate.ts';
import type { OrderKind } from '../../warehouse/ledgers/orders.ts';
import { readQuery } from '../../warehouse/reports/read-query.ts';
import { type Cli, newCommand, type Outcome, type Session } from '../cli.ts';
import { createProgress } from '../output/progress.ts';
import { failures, served, summaryTable } from '../output/summary.ts';
import { table } from '../output/table.ts';
import { openEngine } from '../run/open-engine.ts';
import { type Served, serveOrders } from '../run/serve-orders.ts';
import type { OpenSource, SourceSettings } from '../source-settings.ts';
import { questions } from './demo-queries.ts';

const DATABASE = 'sluice_demo';

export function demoCommand(cli: Cli): Command {
  return newCommand(
    'demo',
    'See it work in half a minute, with made-up data; touches nothing of yours',
    'sluice demo',
  ).action(
    cli.action({ source: false }, async session => {
      const sandbox = await openSandbox({ size: 'small', seed: 7 });
      try {
        return await withDemoDatabase(session, (database, url) => show(session, sandbox, database, url));
      } finally {
        await sandbox.close();
      }
    }),
  );
}

/** On the embedded server, made anew each time, so that a real warehouse beside it is never touched. */
async function withDemoDatabase<T>(
  session: Session,
  work: (database: Database, url: string) => Promise<T>,
): Promise<T> {
  const admin = await session.openDatabase({ embedded: true });
  await admin.query(`drop database if exists ${DATABASE} with (force)`);
  await admin.query(`create database ${DATABASE}`);
  const url = new URL(admin.url);
  url.pathname = `/${DATABASE}`;
  const database = await openDatabase({ url: url.href, applicationName: 'sluice demo', log: session.log });
  try {
    await migrate(session.migrations(database, 'warehouse'));
    return await work(database, url.href);
  } finally {
    await database.close();
  }
}

async function show(session: Session, sandbox: Sandbox, database: Database, url: string): Promise<Outcome> {
  const { terminal } = session;
  const { bold, cyan, dim, green } = terminal.colors;
  const say = async (...lines: string[]) => {
    if (!terminal.json) await terminal.write(`${lines.join('\n')}\n`);
  };
  const began = session.clock.now();
  const read = (kind: OrderKind) => readAll(session, sandbox, database, kind);

  const { customers, invoices, transactions } = sandbox.data;
  await say(
    bold('1. A business suite'),
    `A made-up one runs in this process: ${plural(customers.size, 'customer')}, ${plural(invoices.size, 'invoice')}, ${plural(transactions.size, 'transaction')}.`,
    'Like the real one it can only be asked page by page, a thousand times an hour.',
    '',
    bold('2. The first sync reads all of it into Postgres'),
  );
  const first = await read('sync');
  await say(summaryTable(session, first), '');

  const before = sandbox.changes.length;
  for (const kind of changeKinds) sandbox.change(kind);
  sandbox.changeRandom(26);
  const changes = sandbox.changes.slice(before);
  await say(
    bold(`3. ${changes.length} things change at the source, without a word to us`),
    ...describe(changes),
    '',
    bold('4. The next sync finds them'),
  );
  const second = await read('sync');
  const spent = second.reduce((sum, each) => sum + each.requests, 0);
  const found = second.reduce((sum, each) => sum + each.new + each.changed + each.deleted, 0);
  await say(
    summaryTable(session, second),
    `${plural(found, 'row')} differed and were written, the others were left alone: ${plural(spent, 'request')}.`,
    '',
  );

  const check = await read('verify');
  const equal = check.every(each => each.equal);
  await say(
    equal ? green('Compared with the source once more: every row is equal.') : 'Some rows differ from the source.',
    '',
    bold('5. Ask it anything, in SQL'),
  );
  const answers = [];
  for (const { question, sql } of questions) {
    const { columns, rows } = await ask(session, database, sql);
    answers.push({ question, sql, columns, rows });
    await say(
      cyan(question),
      dim(sql),
      table(terminal.colors, columns, rows, { right: columns.map((_, i) => i).slice(1) }),
      '',
    );
  }
  const failed = failures([...first, ...second, ...check]);
  const seconds = (session.clock.now() - began) / SECOND;
  if (terminal.json) {
    const document = { first, changes: changes.length, second, equal, answers, database: url, seconds };
    terminal.show(failed ? { ...document, error: failed } : document, () => '');
  }
  if (failed && !terminal.json) terminal.note(failed.message);
  await say(
    bold('6. Your turn'),
    `  psql "${url}"`,
    dim('                              these tables until the next demo, as warehouse.invoices and so on;'),
    dim('                              for a psql of your own, which does not come along, or any BI tool'),
    '  export SOURCE_URL=https://.. SOURCE_API_KEY=..    your own source; then',
    '  npx sluice doctor           is everything in place?',
    '  npx sluice sync             read it',
    '  npx sluice start            and keep it equal',
    '  npx sluice stop-db          stop the Postgres that came along and goes on running',
    '',
    dim(`That took ${count(Math.round(seconds))} seconds.`),
  );
  return failed || !equal ? 1 : 0;
}

async function readAll(session: Session, sandbox: Sandbox, database: Database, kind: OrderKind) {
  const { terminal, clock, log, signal, jobs } = session;
  const settings: SourceSettings = {
    url: sandbox.url,
    apiKey: sandbox.apiKey,
    auth: 'bearer',
    pageSize: 'auto',
    limit: 1000,
    windowMs: HOUR,
    concurrency: 4,
    timeoutMs: 30 * SECOND,
    timeZone: 'UTC',
  };
  const { retention } = session.settings;
  const source: OpenSource = {
    ...settings,
    name: 'main',
    schema: 'warehouse',
    settings,
    schedules: {},
    scheduleTimeZone: 'UTC',
    weights: {},
  };
  const shown = createProgress({ terminal, clock });
  const progress = shown.of(null, 'UTC');
  const { onEvent } = progress;
  const all = await serveOrders(
    {
      terminal,
      database,
      source: source.name,
      timeZone: source.timeZone,
      clock,
      signal,
      noWait: true,
      progress,
      isServed: async () => false,
      openEngine: () => openEngine({ database, source, jobs, retention, clock, log, noWait: true, onEvent }),
    },
    [...jobs.keys()].map(resource => ({ resource, kind })),
  ).finally(() => shown.stop());
  return all.map(each => ({ ...served(each), equal: isEqual(each) }));
}

function isEqual({ order }: Served): boolean {
  const report = (order.report ?? {}) as Record<string, readonly string[]>;
  return order.state === 'done' && Object.values(report).every(keys => keys.length === 0);
}

const WORDS: Readonly<Record<string, string>> = { backdated: 'new with an old date', moved: 'moved to another date' };

/** Changes by what happened, e.g. `invoices: 3 new, 2 paid, 1 deleted`. */
function describe(changes: readonly Change[]): string[] {
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

async function ask(
  session: Session,
  database: Database,
  query: string,
): Promise<{ columns: string[]; rows: (string | null)[][] }> {
  const rows: (string | null)[][] = [];
  let columns: string[] = [];
  await readQuery(database, { query, schema: 'warehouse', signal: session.signal }, async (fields, batch) => {
    columns = fields.map(field => field.name);
    for (const row of batch) rows.push([...row]);
    return true;
  });
  return { columns, rows };
}
