import type { Command } from 'commander';
import { SluiceError } from '../../errors.ts';
import { count, moment } from '../../service/format.ts';
import { wakeUp } from '../../service/schedule/wake-up-queue.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import { listOrders, type Order, type OrderState, openOrders, setOrderState } from '../../warehouse/ledgers/orders.ts';
import { orderProgress } from '../../warehouse/reports/report.ts';
import { type Cli, newCommand, type Session } from '../cli.ts';
import { leftText, orderLeft } from '../output/remaining-work.ts';
import { table } from '../output/table.ts';
import { timesIn } from '../output/zoned.ts';
import { hasBookkeeping } from '../run/pending-migrations.ts';
import { isServed } from '../run/running-service.ts';

/** Ended ones that are listed; open ones always are. */
const MOST = 50;

/** `backfill list | pause | resume | cancel`. */
export function backfillOrders(cli: Cli): Command[] {
  const list = newCommand('list', 'Backfills that were ordered, the newest first', 'sluice backfill list').action(
    cli.action({ source: false }, showList),
  );
  const change = (name: string, about: string, from: OrderState[], to: OrderState) =>
    newCommand(name, about, `sluice backfill ${name} 17`)
      .argument('[id]', 'the order, as backfill list shows it; may be left out when only one is meant')
      .action(
        cli.action({ source: false }, (session, id: string | undefined) =>
          changeOrder(session, id, { name, from, to }),
        ),
      );
  return [
    list,
    change('pause', 'Stop reading it; what was read is kept', ['waiting', 'running'], 'paused'),
    change('resume', 'Go on where it was paused', ['paused'], 'waiting'),
    change('cancel', 'Give it up; what was read is kept', ['waiting', 'running', 'paused'], 'cancelled'),
  ];
}

async function backfills(session: Session): Promise<{ database: Database; orders: Order[] }> {
  const database = await session.openDatabase();
  if (!(await hasBookkeeping(session, database))) return { database, orders: [] };
  const byId = new Map<string, Order>();
  for (const { name } of session.settings.sources) {
    const open = (await openOrders(database.kysely, name)).filter(order => order.kind === 'backfill');
    for (const order of [...(await listOrders(database.kysely, name, 'backfill', MOST)), ...open])
      byId.set(order.id, order);
  }
  return { database, orders: [...byId.values()].sort((a, b) => Number(b.id) - Number(a.id)) };
}

async function showList(session: Session): Promise<0> {
  const { terminal, settings } = session;
  const { database, orders } = await backfills(session);
  const open = orders.filter(order => order.endedAt === null && order.state !== 'paused');
  const now = open.length > 0 ? await databaseNow(database) : 0;
  const listed = await Promise.all(
    orders.map(async order => {
      const { id, source, resource, dateFrom, dateTo, state, requests, reason } = order;
      const { slices, proven, ...rest } = await orderProgress(database.kysely, id);
      const of = settings.sources.find(each => each.name === source);
      const abreast = open.filter(other => other.source === source).length;
      const left = of && open.includes(order) ? orderLeft({ slices, proven, ...rest }, of, now, abreast) : null;
      const range = { from: dateFrom, to: dateTo };
      return { id: Number(id), source, resource, ...range, state, requests, slices, proven, left, reason };
    }),
  );
  const several = settings.sources.length > 1;
  const zone = settings.sources[0]?.timeZone ?? 'UTC';
  terminal.show({ backfills: listed }, () => {
    if (listed.length === 0) return 'No backfill was ordered yet. Example: sluice backfill invoices --from 2024-01-01';
    const rows = listed.map(each => [
      each.id,
      several ? `${each.source} ${each.resource}` : each.resource,
      rangeText(each),
      each.state,
      count(each.requests),
      each.state === 'done' ? 'all' : `${each.proven} of ${each.slices}`,
      each.left ? leftText(each.left, at => moment(at, zone)) : '',
    ]);
    const head = ['id', 'resource', 'range', 'state', 'requests', 'slices', 'left'];
    const drawn = table(terminal.colors, head, rows, { right: [0, 4], wrap: { 6: 18 } });
    // A reason is a sentence or two: in a column, the table was wider than a terminal.
    const reasons = listed.filter(each => each.reason !== null).map(each => `${each.id}: ${each.reason}`);
    const below = [reasons.join('\n'), listed.some(each => each.left) ? timesIn(zone) : ''];
    return [drawn, ...below.filter(Boolean)].join('\n\n');
  });
  return 0;
}

export const rangeText = ({ from, to }: { from: string | null; to: string | null }): string =>
  from === null && to === null ? 'everything' : `${from ?? 'beginning'} .. ${to ?? 'end'}`;

async function changeOrder(
  session: Session,
  given: string | undefined,
  change: { name: string; from: OrderState[]; to: OrderState },
): Promise<0> {
  const { terminal } = session;
  const { database, orders } = await backfills(session);
  const open = orders.filter(order => change.from.includes(order.state));
  const only = open.length === 1 ? open[0] : undefined;
  const order = given === undefined ? only : open.find(each => each.id === given);
  const { to } = change;
  const reason = to === 'cancelled' ? 'Cancelled on request.' : null;
  if (!order || !(await setOrderState(database.kysely, order.id, change.from, to, { reason }))) {
    const none = `There is no backfill ${given === undefined ? '' : `${given} `}to ${change.name}.`;
    throw new SluiceError('usage', given === undefined && open.length > 0 ? 'Which backfill?' : none, {
      next:
        open.length === 0
          ? 'See what was ordered: sluice backfill list'
          : `To ${change.name}: ${open.map(each => each.id).join(', ')}.`,
    });
  }
  const { id, source, resource } = order;
  const service = await isServed(database, source);
  if (to === 'waiting') await wakeUp(database, source);
  terminal.show({ order: Number(id), resource, state: to, service }, () => {
    if (to === 'paused') return `Backfill ${id} of ${resource} is paused. Go on: sluice backfill resume ${id}`;
    if (to === 'cancelled') return `Backfill ${id} of ${resource} is cancelled; what was read is kept.`;
    return `Backfill ${id} of ${resource} goes on: ${service ? 'the running service reads it.' : 'sluice start reads it, or the same backfill command.'}`;
  });
  return 0;
}
