import type { Command } from 'commander';
import { HOUR } from '../../clock.ts';
import type { SourceConfig } from '../../config/config.ts';
import { capitalized, SluiceError } from '../../errors.ts';
import { count, moment, plural } from '../../service/format.ts';
import { describeOrders, estimateReading, paceOf, remainingText, UNREAD } from '../../service/orders/order-cost.ts';
import {
  allows,
  CHANGES,
  changeOrder,
  type OrderChange,
  parseRange,
  placeOrder,
  type Range,
  rangeText,
} from '../../service/orders/order-requests.ts';
import { wakeUp } from '../../service/schedule/wake-ups.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { allOpenOrders, type ListedOrder, listOrders } from '../../warehouse/ledgers/orders.ts';
import { zoneNote } from '../output/moments.ts';
import { table } from '../output/table.ts';
import { readSources } from '../run/complete-orders.ts';
import { hasBookkeeping, listPending, openMigrated } from '../run/pending-migrations.ts';
import { showSummary } from '../run/summary.ts';
import { type Cli, type ExitCode, listOf, NO_WAIT, newCommand, type Session } from '../session/session.ts';
import { isServiceRunning, readUsage } from '../session/source-settings.ts';

const EXAMPLES = `sluice backfill invoices --from 2024-01-01 --to 2024-12-31
sluice backfill invoices --from 2024-01-01 --dry-run    estimate the cost
sluice backfill transactions --detach                   leave it to the service
sluice backfill list
sluice backfill pause 17                                also: resume, cancel`;

interface Options {
  readonly from?: string;
  readonly to?: string;
  readonly dryRun?: boolean;
  readonly detach?: boolean;
  readonly wait: boolean;
}

export function command(cli: Cli): Command {
  const command = newCommand('backfill', EXAMPLES)
    .argument('<resource>', 'the resource to read')
    .option('--from <date>', 'first day, YYYY-MM-DD in SOURCE_TIMEZONE')
    .option('--to <date>', 'last day, inclusive')
    .option('--dry-run', 'estimate slices, requests and hours; send no request and change nothing')
    .option('--detach', 'create the order and leave it to the service')
    .option('--no-wait', NO_WAIT)
    // Options after `list` then belong to `list`.
    .enablePositionalOptions()
    .action(async (resource: string, options: Options, self: Command) => {
      const source = !options.dryRun && !options.detach;
      await cli.action({ source }, (session, _self: Command) => backfill(session, resource, options))(self);
    });
  const list = newCommand('list', 'sluice backfill list').description('List backfill orders, newest first');
  command.addCommand(list.action(cli.action({ source: false }, listBackfills)));
  for (const name of ['pause', 'resume', 'cancel'] as const) {
    const change = newCommand(name, `sluice backfill ${name} 17`)
      .description(CHANGE_TEXTS[name])
      .argument('[id]', 'the order, of whatever kind; optional if only one backfill qualifies')
      .action(cli.action({ source: false }, (session, id: string | undefined) => changeBackfill(session, id, name)));
    command.addCommand(change);
  }
  return command;
}

const CHANGE_TEXTS: Readonly<Record<OrderChange, string>> = {
  pause: 'Pause a backfill; rows already read are kept',
  resume: 'Resume a paused backfill',
  cancel: 'Cancel a backfill; rows already read are kept',
};

async function backfill(session: Session, resource: string, options: Options): Promise<ExitCode> {
  // Throws if there are several sources: a backfill is one order, so --source must name one.
  listOf(session, resource);
  const range = parseRange(session.jobs, resource, options);
  if (options.dryRun) return dryRun(session, resource, range);
  if (options.detach) return detach(session, resource, range);
  const request = { resource, kind: 'backfill' as const, dateFrom: range.from, dateTo: range.to };
  return showSummary(session, await readSources(session, [request], options));
}

async function detach(session: Session, resource: string, range: Range): Promise<0> {
  const database = await openMigrated(session);
  const document = await orderBackfill(database, session.settings.single.name, resource, range);
  const { order, service } = document;
  const reader = service ? 'The running service will read it.' : 'No service is running; start one: sluice start.';
  session.terminal.show(document, () => `Order ${order} is created. ${reader} Progress: sluice backfill list`);
  return 0;
}

/** Leaves a backfill to the service. `service`: whether one runs. */
export async function orderBackfill(database: Database, source: string, resource: string, range: Range) {
  const request = { resource, kind: 'backfill', dateFrom: range.from, dateTo: range.to } as const;
  const { id, state } = await placeOrder(database, source, request);
  await wakeUp(database, source);
  return { order: Number(id), resource, ...range, state, service: await isServiceRunning(database, source) };
}

/** How long so many requests take at the request limit, to two digits. */
export const hoursOf = (requests: number, { limit, windowMs }: SourceConfig): number =>
  Math.round((requests / limit) * (windowMs / HOUR) * 100) / 100;

const MOST_LINES = 40;

/** Estimates a backfill from the bookkeeping alone: it sends no request and changes nothing. */
async function dryRun(session: Session, resource: string, range: Range): Promise<0> {
  const { terminal, settings } = session;
  const { timeZone } = settings.single;
  const list = listOf(session, resource);
  const database = await session.openDatabase();
  const isReady = (await hasBookkeeping(session, database)) && (await listPending(session, database)).length === 0;
  const estimate = isReady ? await estimateReading(database, list, range) : UNREAD;
  const { parts, neverRead, rows, requests } = estimate;
  const total = { slices: parts.length, neverRead, rows, requests, hours: hoursOf(requests, settings.single) };
  terminal.show({ resource, ...range, slices: parts, total }, () => {
    const known = (value: number | null) => (value === null ? '?' : count(value));
    const lines = parts.slice(0, MOST_LINES).map(part => {
      const read = part.provenAt === null ? 'never read' : moment(part.provenAt, timeZone);
      return [part.slice, read, known(part.rows), known(part.requests)];
    });
    const more = parts.length - lines.length;
    return [
      `Backfill of ${resource}, ${rangeText(range)}: ${plural(parts.length, 'slice')}. Dry run: no request was sent and nothing changed.`,
      '',
      table(terminal.colors, ['slice', 'last read', 'rows', 'requests'], lines, { right: [2, 3] }),
      ...(more > 0 ? [`and ${count(more)} more (--json shows all)`] : []),
      '',
      costText(total),
      ...(neverRead < parts.length ? [zoneNote(timeZone)] : []),
    ].join('\n');
  });
  return 0;
}

function costText(total: Record<'slices' | 'neverRead' | 'rows' | 'requests' | 'hours', number>): string {
  const { slices, neverRead, rows, requests, hours } = total;
  const duration = hours < 0.1 ? 'a few minutes' : `${hours.toFixed(1)} hours`;
  const known = `About ${plural(requests, 'request')} for ${plural(rows, 'row')}; at the request limit that takes ${duration}.`;
  if (neverRead === 0) return known;
  const [were, those] = neverRead === 1 ? ['was', 'it'] : ['were', 'those'];
  const unread = `${plural(neverRead, 'slice')} ${were} never read; the cost of ${those} is not known yet.`;
  return neverRead === slices ? unread : `${known}\n${unread}`;
}

/** How many ended backfills are listed; open ones are always listed. */
const MOST = 50;

/** The orders of the command's sources that have not ended, newest first. */
async function findOpenOrders(session: Session): Promise<{ database: Database; orders: ListedOrder[] }> {
  const database = await session.openDatabase();
  if (!(await hasBookkeeping(session, database))) return { database, orders: [] };
  const sources = session.settings.sources.map(({ name }) => name);
  return { database, orders: (await allOpenOrders(database.kysely, sources)).reverse() };
}

/** The backfills of the command's sources, newest first. */
async function findBackfills(session: Session): Promise<{ database: Database; orders: ListedOrder[] }> {
  const { database, orders } = await findOpenOrders(session);
  if (!(await hasBookkeeping(session, database))) return { database, orders: [] };
  const byId = new Map(orders.filter(order => order.kind === 'backfill').map(order => [order.id, order]));
  for (const { name } of session.settings.sources)
    for (const order of await listOrders(database.kysely, { sources: [name], kind: 'backfill' }, MOST))
      byId.set(order.id, order);
  return { database, orders: [...byId.values()].sort((a, b) => Number(b.id) - Number(a.id)) };
}

async function listBackfills(session: Session): Promise<0> {
  const backfills = await readBackfills(session);
  session.terminal.show({ backfills }, () => draw(session, backfills));
  return 0;
}

async function readBackfills(session: Session) {
  const { database, orders } = await findBackfills(session);
  const backfills = [];
  for (const source of session.settings.sources) {
    const its = orders.filter(order => order.source === source.name);
    if (its.length === 0) continue;
    const pace = paceOf(source, await readUsage(database, source));
    for (const order of await describeOrders(database, { source: source.name, pace }, its)) {
      const { resource, dateFrom: from, dateTo: to, state, requests, progress, left, reason } = order;
      const { slices, proven } = progress;
      const id = Number(order.id);
      backfills.push({ id, source: order.source, resource, from, to, state, requests, slices, proven, left, reason });
    }
  }
  return backfills.sort((a, b) => b.id - a.id);
}

function draw({ terminal, settings }: Session, listed: Awaited<ReturnType<typeof readBackfills>>): string {
  if (listed.length === 0) return 'There are no backfills yet. Example: sluice backfill invoices --from 2024-01-01';
  const hasSeveral = settings.sources.length > 1;
  const zone = settings.sources[0]?.timeZone ?? 'UTC';
  const rows = listed.map(each => [
    each.id,
    hasSeveral ? `${each.source} ${each.resource}` : each.resource,
    rangeText(each),
    each.state,
    count(each.requests),
    each.state === 'done' ? 'all' : `${each.proven} of ${each.slices}`,
    each.left ? remainingText(each.left, at => moment(at, zone)) : '',
  ]);
  const head = ['id', 'resource', 'range', 'state', 'requests', 'slices', 'requests left'];
  const drawn = table(terminal.colors, head, rows, { right: [0, 4], wrap: { 6: 18 } });
  // Reasons are sentences: as a column, they made the table wider than a terminal.
  const reasons = listed.filter(each => each.reason !== null).map(each => `${each.id}: ${each.reason}`);
  const below = [reasons.join('\n'), listed.some(each => each.left) ? zoneNote(zone) : ''];
  return [drawn, ...below.filter(Boolean)].join('\n\n');
}

/**
 * Pauses, resumes or cancels the order with this id, of whatever kind, or without an id the only backfill in a state that allows it: messages
 * name these commands for every order.
 */
async function changeBackfill(session: Session, given: string | undefined, change: OrderChange): Promise<0> {
  const { terminal } = session;
  const { database, orders } = await findOpenOrders(session);
  const allowed = orders.filter(order => allows(order, change));
  const open = allowed.filter(order => order.kind === 'backfill');
  const only = open.length === 1 ? open[0] : undefined;
  const order = given === undefined ? only : allowed.find(each => each.id === given);
  const { to } = CHANGES[change];
  if (!order || !(await changeOrder(database, order, change))) throw noSuchBackfill(change, given, open);
  const { id, source, resource, kind } = order;
  const what = `${capitalized(kind)} ${id} of ${resource}`;
  const service = await isServiceRunning(database, source);
  terminal.show({ order: Number(id), resource, state: to, service }, () => {
    if (to === 'paused') return `${what} is paused. To continue: sluice backfill resume ${id}`;
    if (to === 'cancelled') return `${what} is cancelled; rows already read are kept.`;
    const reader = service ? 'the running service reads it.' : `read it with sluice start or the same ${kind} command.`;
    return `${what} is resumed; ${reader}`;
  });
  return 0;
}

function noSuchBackfill(action: string, given: string | undefined, open: readonly ListedOrder[]): SluiceError {
  const ids = open.map(each => each.id).join(', ');
  if (given === undefined && ids !== '')
    return new SluiceError('usage', `There are several backfills to ${action}.`, { next: `Name one: ${ids}.` });
  return new SluiceError('usage', `There is no backfill ${given === undefined ? '' : `${given} `}to ${action}.`, {
    next: ids === '' ? 'To see all backfills: sluice backfill list' : `Backfills to ${action}: ${ids}.`,
  });
}
