import { changeKinds } from '../../../sandbox/changes/main-changes.ts';
import { MINUTE, SECOND } from '../../clock.ts';
import { count, plural } from '../../service/format.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { readQuery } from '../../warehouse/reports/read-query.ts';
import { table } from '../output/table.ts';
import { failuresOf, type OrderSummary, summaryTable } from '../run/summary.ts';
import type { Outcome, Session } from '../session/session.ts';
import { QUERIES } from './demo-queries.ts';
import { describeChanges } from './describe-changes.ts';
import { type Demo, readSandbox } from './read-sandbox.ts';

/** Prints lines, except with `--json`. */
type Say = (...lines: string[]) => Promise<void>;

/** Syncs, changes the source, syncs again, compares, and queries. */
export async function showDemo(demo: Demo): Promise<Outcome> {
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

/** Returns the number of changes. */
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
    const { columns, rows } = await runQuery(session, database, sql);
    answers.push({ question, sql, columns, rows });
    const right = columns.map((_, index) => index).slice(1);
    await say(colors.cyan(question), colors.dim(sql), table(colors, columns, rows, { right }), '');
  }
  return answers;
}

async function runQuery(
  session: Session,
  database: Database,
  query: string,
): Promise<{ columns: string[]; rows: (string | null)[][] }> {
  const rows: (string | null)[][] = [];
  let columns: string[] = [];
  await readQuery(
    database,
    { query, schema: 'warehouse', timeoutMs: MINUTE, signal: session.signal },
    async (fields, batch) => {
      columns = fields.map(field => field.name);
      for (const row of batch) rows.push([...row]);
      return true;
    },
  );
  return { columns, rows };
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
