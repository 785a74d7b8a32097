import type { Command } from 'commander';
import { SECOND } from '../../clock.ts';
import type { SourceConfig } from '../../config/config.ts';
import { SluiceError } from '../../errors.ts';
import { budgetLine, count, moment } from '../../service/format.ts';
import { estimateRemaining, paceOf, remainingText } from '../../service/orders/order-cost.ts';
import { conditionOf, conditionText } from '../../service/status/condition.ts';
import { driftLine } from '../../service/status/field-drift.ts';
import { INCIDENT_WORDS } from '../../service/status/incident-words.ts';
import { createRowCounts } from '../../service/status/served-source.ts';
import { type FullState, readFullState } from '../../service/status/source-state.ts';
import { delayTable, minute, resourceTable, runTable, type StatusTable } from '../../service/status/status-tables.ts';
import type { Database } from '../../warehouse/database/database.ts';
import type { Spending } from '../../warehouse/reports/state-queries.ts';
import { zoneNote } from '../output/moments.ts';
import { table } from '../output/table.ts';
import { isWithoutWarehouse, listPending, pendingText } from '../run/pending-migrations.ts';
import { type Cli, newCommand, type Session, type Warehouse } from '../session/session.ts';
import { isServiceRunning, readUsage, watchedSource } from '../session/source-settings.ts';

export function command(cli: Cli): Command {
  return newCommand('status', 'sluice status\nsluice status --watch    again every five seconds, until Ctrl-C')
    .option('--watch', 'show it again every five seconds, until Ctrl-C')
    .action(cli.action({ source: false }, status));
}

const WATCH_MS = 5 * SECOND;
/** The first line of an empty screen. */
const CLEAR = '\x1b[H\x1b[2J\x1b[3J';

async function status(session: Session, { watch = false }: { watch?: boolean }): Promise<0> {
  const { terminal, clock, signal } = session;
  if (watch && (terminal.json || terminal.width === null))
    throw new SluiceError('usage', '--watch needs a terminal.', { next: 'For programs: sluice status --json' });
  if (await isWithoutWarehouse(session)) {
    terminal.show(
      { database: null },
      () => 'There is no warehouse yet. Create one: sluice sync (or try the demo: sluice demo).',
    );
    return 0;
  }
  const database = await session.openDatabase();
  for (;;) {
    const state = await readState(session, database);
    if (watch) await terminal.write(CLEAR);
    terminal.show(documentOf(state), () => draw(session, state));
    if (!watch) return 0;
    terminal.note('\nAgain every five seconds; Ctrl-C ends it.');
    await clock.sleep(WATCH_MS, signal).catch(() => undefined);
    if (signal.aborted || terminal.closed) return 0;
  }
}

async function readState(session: Session, database: Warehouse) {
  const { settings } = session;
  const url = shownUrl(session, database);
  const pending = await listPending(session, database);
  if (pending.length > 0) return { database: url, pending };
  const sources = [];
  for (const source of settings.sources) sources.push(await readSource(session, database, source));
  return { database: url, sources };
}

type ReadSource = Awaited<ReturnType<typeof readSource>>;

async function readSource(session: Session, database: Database, source: SourceConfig) {
  const isServed = await isServiceRunning(database, source.name);
  const watched = { ...watchedSource(source, session.jobs), usage: () => readUsage(database, source) };
  const status = await readFullState(database, watched, { isServed, countRows: createRowCounts(database) });
  return { source, service: isServed, status };
}

/** The open orders, each with what it still needs. */
function ordersOf({ source, status: { orders, readAt, usage } }: ReadSource) {
  const abreast = orders.filter(order => order.state !== 'paused').length;
  return orders.map(({ progress, ...order }) => {
    const left = estimateRemaining(progress, paceOf(source, usage), readAt, abreast);
    // Nobody knows when a paused one goes on.
    return { ...order, left: order.state === 'paused' ? { ...left, finishesAt: null } : left };
  });
}

type State = Awaited<ReturnType<typeof readState>>;

/** For people: the login that may only read, if there is one. With the password that Sluice made, without those of settings. */
function shownUrl({ settings }: Session, { url, readerUrl }: Warehouse): string {
  if (!settings.databaseUrl) return readerUrl ?? url;
  const setting = readerUrl ? 'READER_DATABASE_URL' : 'DATABASE_URL';
  return settings.shown.find(each => each.name === setting)?.value ?? '';
}

/** With a single source its fields stand beside `database`. */
function documentOf(state: State) {
  if (!('sources' in state)) return state;
  const { database } = state;
  const sources = state.sources.map(sourceStatus);
  const [only] = sources;
  return sources.length === 1 && only ? { database, ...only } : { database, sources };
}

function sourceStatus(state: ReadSource) {
  const { source, service, status } = state;
  return {
    source: source.name,
    state: conditionOf(status),
    upToDateAt: status.upToDateAt,
    schema: source.schema,
    service,
    reader: status.reader === null ? null : (status.reader.command ?? 'start'),
    resources: status.resources.map(each => {
      const { oldestProofSeconds: _, ...shown } = each;
      return shown;
    }),
    runs: status.runs,
    failed: status.failed,
    incidents: status.incidents,
    orders: ordersOf(state),
    budget: status.usage,
    lastHour: status.lastHour,
    delays: status.delays,
    drift: status.drift,
  };
}

function draw(session: Session, state: State): string {
  const { colors } = session.terminal;
  const parts = [`${colors.bold('Database')}  psql "${state.database}"`];
  if (!('sources' in state)) {
    const next = 'Next: sluice sync, which migrates first (or only: sluice migrate)';
    return [...parts, '', `Pending migrations: ${pendingText(state.pending)}.`, next].join('\n');
  }
  for (const each of state.sources) {
    const { name, schema, timeZone } = each.source;
    if (state.sources.length > 1) parts.push('', `${colors.bold('Source')}    ${name}, schema ${schema}`);
    parts.push(...drawSource(session, each), '', zoneNote(timeZone));
  }
  return parts.join('\n').trimEnd();
}

function drawSource(session: Session, state: ReadSource): string[] {
  const { colors } = session.terminal;
  const { status, service } = state;
  const { timeZone } = state.source;
  const drawTable = ({ head, right, rows }: StatusTable) => table(colors, head, rows, { right });
  const parts = [
    `${colors.bold('State')}     ${conditionText(status)}`,
    `${colors.bold('Service')}   ${serviceText(service, status.reader)}`,
  ];
  if (status.usage) parts.push(`${colors.bold('Requests')}  ${budgetLine(status.usage, at => moment(at, timeZone))}`);
  if (status.lastHour.length > 0) parts.push(`${colors.bold('Last hour')} ${spentLine(status.lastHour)}`);
  parts.push('', drawTable(resourceTable(status, timeZone)));
  for (const { resource, apart } of status.resources.filter(each => each.apart.length > 0)) {
    const some = `${apart.slice(-3).join(', ')}${apart.length > 3 ? ` and ${apart.length - 3} more months` : ''}`;
    const text = `The source's monthly report disagrees with the rows of ${resource} for ${some}; see sluice.coverage.`;
    parts.push('', text);
  }
  const delays = delayTable(status);
  if (delays) parts.push('', drawTable(delays));
  if (status.runs.length > 0) parts.push('', drawTable(runTable(status, timeZone)));
  if (status.orders.length > 0) parts.push('', drawTable(orderTable(state)));
  for (const each of status.drift) parts.push('', `${driftLine(each, timeZone)}. ${each.meaning}`);
  for (const { problem, next } of problemsOf(state)) parts.push('', colors.red(problem), next ?? '');
  return parts;
}

/** A command that reads is named: what happens now is its doing. */
function serviceText(service: boolean, reader: FullState['reader']): string {
  const command = reader?.command ? `sluice ${reader.command} is reading this source` : null;
  if (service) return command ? `running; now ${command}` : 'running';
  return command ? `none; ${command}` : 'not running (start it: sluice start)';
}

function orderTable(state: ReadSource): StatusTable {
  const at = (value: number | string) => minute(value, state.source.timeZone);
  return {
    head: ['order', 'kind', 'resource', 'state', 'created', 'requests left'],
    right: [],
    rows: ordersOf(state).map(({ id, kind, resource, state, createdAt, left }) => [
      ...[id, kind, resource, state, at(createdAt)],
      state === 'paused' ? '' : remainingText(left, at),
    ]),
  };
}

/** Open incidents, and failed runs that no incident covers; each with its next step. */
function problemsOf({ source, status }: ReadSource): { problem: string; next: string | null }[] {
  const at = (value: string | null) => moment(value, source.timeZone);
  const { incidents, failed } = status;
  const uncovered = failed.filter(
    run => !incidents.some(({ resource }) => resource === null || resource === run.resource),
  );
  return [
    ...incidents.map(({ resource, kind, openedAt, message, next }) => {
      return {
        problem: `${resource ?? source.name}: ${INCIDENT_WORDS[kind].title} since ${at(openedAt)}. ${message}`,
        next,
      };
    }),
    ...uncovered.map(({ kind, resource, endedAt, reason, next }) => {
      return { problem: `The last ${kind} of ${resource} failed at ${at(endedAt)}: ${reason}`, next };
    }),
  ];
}

const MOST_SPENDERS = 3;

/** `320 transactions (backfill), 44 invoices (slot), 12 other`. */
function spentLine(spent: readonly Spending[]): string {
  const parts = spent.slice(0, MOST_SPENDERS).map(each => `${count(each.requests)} ${each.resource} (${each.kind})`);
  const rest = spent.slice(MOST_SPENDERS).reduce((sum, each) => sum + each.requests, 0);
  if (rest > 0) parts.push(`${count(rest)} other`);
  return parts.join(', ');
}
