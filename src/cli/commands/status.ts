import type { Command } from 'commander';
import { embeddedStatus } from '../../embedded-postgres/embedded-server.ts';
import { TITLES } from '../../service/incidents/alerts.ts';
import { budgetLine, count, moment, provenText } from '../../service/words.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import { openIncidents } from '../../warehouse/ledgers/incidents.ts';
import { openOrders } from '../../warehouse/ledgers/orders.ts';
import type { Run } from '../../warehouse/ledgers/runs.ts';
import {
  failedLast,
  orderProgress,
  resourceState,
  runsUnderWay,
  type Spending,
  spending,
} from '../../warehouse/reports/report.ts';
import { type Cli, newCommand, type Session } from '../cli.ts';
import { leftText, orderLeft } from '../output/remaining-work.ts';
import { table } from '../output/table.ts';
import { timesIn } from '../output/zoned.ts';
import { pendingText, whatIsPending } from '../run/pending-migrations.ts';
import { isServed } from '../run/running-service.ts';
import { type NamedSource, openLedger, schedulesOf } from '../source-settings.ts';

export function statusCommand(cli: Cli): Command {
  return newCommand(
    'status',
    'What the warehouse holds, how fresh it is, and what is going on',
    'sluice status\nsluice status --json',
  ).action(
    cli.action({ source: false }, async session => {
      const { terminal, settings } = session;
      if (!settings.databaseUrl && (await embeddedStatus(settings.dataDir)).state === 'absent') {
        terminal.show(
          { database: null },
          () => 'There is no warehouse yet. Make one: sluice sync (or look around: sluice demo).',
        );
        return 0;
      }
      const state = await readState(session);
      terminal.show(documentOf(state), () => draw(session, state));
      return 0;
    }),
  );
}

async function readState(session: Session) {
  const { settings } = session;
  const database = await session.openDatabase();
  const url = shownUrl(session, database.url);
  const pending = await whatIsPending(session, database);
  if (pending.length > 0) return { database: url, pending };
  const sources = [];
  for (const source of settings.sources) sources.push(await readSource(session, database, source));
  return { database: url, sources };
}

async function readSource(session: Session, database: Database, source: NamedSource) {
  const { name, schema } = source;
  const { kysely } = database;
  const names = [...session.jobs.keys()];
  const schedules = schedulesOf(source, session.jobs);
  const resources = [];
  for (const resource of names) resources.push(await resourceState(kysely, { source: name, resource, schema }));
  const open = await openOrders(kysely, name);
  const now = await databaseNow(database);
  const abreast = open.filter(order => order.state !== 'paused').length;
  const orders = [];
  for (const order of open)
    orders.push({ ...order, left: orderLeft(await orderProgress(kysely, order.id), source, now, abreast) });
  return {
    source: name,
    schema,
    service: await isServed(database, name),
    resources,
    runs: await runsUnderWay(kysely, name),
    // A resource that was switched off since has no next scheduled run that could end well.
    failed: (await failedLast(kysely, name, names)).filter(run => run.kind !== 'slot' || schedules.has(run.resource)),
    incidents: await openIncidents(kysely, name),
    orders,
    budget: source.settings ? await openLedger(database, name, source.settings).usage() : null,
    lastHour: await spending(kysely, name),
  };
}

const someOf = (months: readonly string[]): string =>
  `${months.slice(-3).join(', ')}${months.length > 3 ? ` and ${months.length - 3} more months` : ''}`;

type State = Awaited<ReturnType<typeof readState>>;
type SourceState = Awaited<ReturnType<typeof readSource>>;

/** People need the embedded server's password, and it is theirs; that of DATABASE_URL they know. */
function shownUrl({ settings }: Session, url: string): string {
  return settings.databaseUrl ? (settings.shown.find(each => each.name === 'DATABASE_URL')?.value ?? '') : url;
}

/** With one source, what is known of it stands beside the database. */
function documentOf(state: State) {
  if (!('sources' in state)) return state;
  const { database, sources } = state;
  const [only] = sources;
  return sources.length === 1 && only ? { database, ...only } : { database, sources };
}

function draw(session: Session, state: State): string {
  const { terminal, settings } = session;
  const { colors } = terminal;
  const parts = [`${colors.bold('Database')}  psql "${state.database}"`];
  if (!('sources' in state)) {
    const names = pendingText(state.pending);
    const next = 'Next: sluice sync (or only: sluice migrate)';
    return [...parts, '', `Its tables are not up to date: ${names}.`, next].join('\n');
  }
  for (const source of state.sources) {
    const { timeZone = 'UTC' } = settings.sources.find(each => each.name === source.source) ?? {};
    if (state.sources.length > 1)
      parts.push('', `${colors.bold('Source')}    ${source.source}, schema ${source.schema}`);
    parts.push(...drawSource(session, source, value => moment(value, timeZone)), '', timesIn(timeZone));
  }
  return parts.join('\n').trimEnd();
}

function drawSource(session: Session, state: SourceState, at: (value: number | string | null) => string): string[] {
  const { colors } = session.terminal;
  const parts = [`${colors.bold('Service')}   ${state.service ? 'running' : 'not running (sluice start)'}`];
  if (state.budget) parts.push(`${colors.bold('Requests')}  ${budgetLine(state.budget, at)}`);
  if (state.lastHour.length > 0) parts.push(`${colors.bold('Last hour')} ${spentLine(state.lastHour)}`);

  const rows = state.resources.map(each => [
    each.resource,
    count(each.rows),
    at(each.newestChange),
    provenText(each, at),
    each.slices === 0 ? '' : `${Math.floor((100 * each.provenInADay) / each.slices)}%`,
    count(each.missing),
    count(each.quarantined),
  ]);
  const head = ['resource', 'rows', 'newest change', 'oldest proof', 'in a day', 'missing', 'quarantined'];
  parts.push('', table(colors, head, rows, { right: [1, 4, 5, 6] }));
  for (const { resource, apart } of state.resources.filter(each => each.apart.length > 0))
    parts.push(
      '',
      `The source's own report sums up ${resource} otherwise than its rows in ${someOf(apart)}; see sluice.coverage.`,
    );
  if (state.runs.length > 0) {
    const runs = state.runs.map(run => [
      run.resource,
      run.kind,
      run.state === 'waiting' ? `waiting for quota until ${at(run.waitingUntil)}` : 'running',
      count(run.rowsRead),
      count(run.requests),
      at(run.startedAt),
    ]);
    parts.push('', table(colors, ['run', 'kind', 'state', 'rows', 'requests', 'since'], runs, { right: [3, 4] }));
  }
  if (state.orders.length > 0) {
    const orders = state.orders.map(order => [
      order.id,
      order.kind,
      order.resource,
      order.state,
      at(order.createdAt),
      order.state === 'paused' ? '' : leftText(order.left, at),
    ]);
    parts.push('', table(colors, ['order', 'kind', 'resource', 'state', 'given', 'requests left'], orders));
  }
  for (const { resource, kind, openedAt, message, next } of state.incidents)
    parts.push(
      '',
      colors.red(`${resource ?? state.source}: ${TITLES[kind]} since ${at(openedAt)}. ${message}`),
      next ?? '',
    );
  // What is an incident, too, is told once.
  const told = (run: Run) => state.incidents.some(({ resource }) => resource === null || resource === run.resource);
  for (const run of state.failed.filter(each => !told(each)))
    parts.push(
      '',
      colors.red(`The last ${run.kind} of ${run.resource} failed at ${at(run.endedAt)}: ${run.reason}`),
      run.next ?? '',
    );
  return parts;
}

const MOST_SPENDERS = 3;

/** `backfill transactions 320, slot invoices 44 and 12 more`. */
function spentLine(spent: readonly Spending[]): string {
  const shown = spent.slice(0, MOST_SPENDERS).map(each => `${each.kind} ${each.resource} ${count(each.requests)}`);
  const rest = spent.slice(MOST_SPENDERS).reduce((sum, each) => sum + each.requests, 0);
  return `${shown.join(', ')}${rest > 0 ? ` and ${count(rest)} for others` : ''}`;
}
