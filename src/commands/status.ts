import type { Command } from 'commander';
import { embeddedStatus } from '../warehouse/embedded.ts';
import type { Usage } from '../warehouse/ledger.ts';
import { pendingMigrations } from '../warehouse/migrate.ts';
import { openOrders } from '../warehouse/orders.ts';
import { resourceState } from '../warehouse/report.ts';
import { lastRuns, type Run } from '../warehouse/runs.ts';
import { type Cli, newCommand, type Session } from './cli.ts';
import { isServed } from './service.ts';
import { openLedger } from './source-settings.ts';
import { count, moment, plural, table } from './table.ts';

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
      terminal.show(state, () => draw(session, state));
      return 0;
    }),
  );
}

async function readState(session: Session) {
  const { settings, jobs } = session;
  const database = await session.openDatabase();
  const url = shownUrl(session, database.url);
  const pending = await pendingMigrations(session.migrations(database));
  if (pending.length > 0) return { database: url, pending };
  const { kysely } = database;
  const resources = [];
  for (const resource of jobs.keys())
    resources.push(await resourceState(kysely, { source: settings.sourceName, resource, schema: settings.schema }));
  const runs = await lastRuns(kysely, settings.sourceName, 100);
  return {
    database: url,
    schema: settings.schema,
    service: await isServed(session, database),
    resources,
    runs: runs.filter(run => run.endedAt === null),
    failed: lastEnded(runs).filter(run => run.state === 'failed'),
    orders: await openOrders(kysely, settings.sourceName),
    budget: settings.source ? await openLedger(database, settings.sourceName, settings.source).usage() : null,
  };
}

/** The last run of each resource that has ended; the newest come first. */
function lastEnded(runs: readonly Run[]): Run[] {
  const ended = runs.filter(run => run.endedAt !== null);
  return ended.filter(run => ended.find(other => other.resource === run.resource) === run);
}

type State = Awaited<ReturnType<typeof readState>>;

/** People need the embedded server's password, and it is theirs; that of DATABASE_URL they know. */
function shownUrl({ settings }: Session, url: string): string {
  return settings.databaseUrl ? (settings.shown.find(each => each.name === 'DATABASE_URL')?.value ?? '') : url;
}

function draw(session: Session, state: State): string {
  const { terminal, settings } = session;
  const { colors } = terminal;
  const at = (value: number | string | null) => moment(value, settings.timeZone);
  const parts = [`${colors.bold('Database')}  psql "${state.database}"`];
  if ('pending' in state) {
    const names = state.pending?.join(', ');
    return [...parts, '', `Its tables are not up to date (${names}). Next: sluice migrate`].join('\n');
  }
  parts.push(`${colors.bold('Service')}   ${state.service ? 'running' : 'not running (sluice start)'}`);
  if (state.budget) parts.push(`${colors.bold('Requests')}  ${budgetLine(state.budget, at)}`);

  const rows = state.resources.map(each => [
    each.resource,
    count(each.rows),
    at(each.newestChange),
    each.neverRead > 0 ? `${plural(each.neverRead, 'part')} unread` : at(each.oldestProof),
    each.slices === 0 ? '' : `${Math.floor((100 * each.provenInADay) / each.slices)}%`,
    count(each.missing),
    count(each.quarantined),
  ]);
  const head = ['resource', 'rows', 'newest change', 'oldest proof', 'proven in a day', 'missing', 'quarantined'];
  parts.push('', table(colors, head, rows, { right: [1, 4, 5, 6] }));
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
    const orders = state.orders.map(order => [order.id, order.kind, order.resource, order.state, at(order.createdAt)]);
    parts.push('', table(colors, ['order', 'kind', 'resource', 'state', 'given'], orders));
  }
  for (const run of state.failed)
    parts.push(
      '',
      colors.red(`The last ${run.kind} of ${run.resource} failed at ${at(run.endedAt)}: ${run.reason}`),
      run.next ?? '',
    );
  return parts.join('\n').trimEnd();
}

export function budgetLine(usage: Usage, at: (value: string | null) => string): string {
  const { used, limit, free, withheld, blockedUntil, nextFreeAt } = usage;
  const others = withheld > 0 ? `, ${count(withheld)} by other programs on this key` : '';
  const blocked = blockedUntil ? `; the source asks to wait until ${at(blockedUntil)}` : '';
  const next = !blockedUntil && free === 0 && nextFreeAt ? `; the next is free at ${at(nextFreeAt)}` : '';
  return `${count(used)} of ${count(limit)} in the window used${others}, ${count(free)} left${blocked}${next}`;
}
