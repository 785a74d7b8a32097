import { count, moment } from '../../service/format.ts';
import { estimateRemaining, type Pace, remainingText } from '../../service/orders/order-cost.ts';
import { rangeText } from '../../service/orders/order-range.ts';
import { shownOrderState } from '../../service/status/source-state.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import { findReader } from '../../warehouse/database/source-lock.ts';
import { listOrders, type Order, openOrders } from '../../warehouse/ledgers/orders.ts';
import { orderProgress } from '../../warehouse/reports/order-progress.ts';
import { zoneNote } from '../output/moments.ts';
import { table } from '../output/table.ts';
import { hasBookkeeping } from '../run/pending-migrations.ts';
import type { Session } from '../session/session.ts';
import { openLedger, paceOf } from '../session/source-settings.ts';

/** How many ended backfills are listed; open ones are always listed. */
const MOST = 50;

/** The backfills of the command's sources, newest first. */
export async function findBackfills(session: Session): Promise<{ database: Database; orders: Order[] }> {
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

export async function listBackfills(session: Session): Promise<0> {
  const { terminal } = session;
  const { database, orders } = await findBackfills(session);
  const open = orders.filter(order => order.endedAt === null && order.state !== 'paused');
  const now = open.length > 0 ? await databaseNow(database) : 0;
  const states = await statesOf(session, database, new Set(open.map(order => order.source)));
  const listed = await Promise.all(
    orders.map(async order => {
      const { id, source, resource, dateFrom, dateTo, requests, reason } = order;
      const progress = await orderProgress(database.kysely, id);
      const { slices, proven } = progress;
      const known = open.includes(order) ? states.get(source) : undefined;
      const sharing = open.filter(other => other.source === source).length;
      const left = known ? estimateRemaining(progress, known.pace, now, sharing) : null;
      const state = known ? shownOrderState(order.state, { isRead: known.isRead, isServed: false }) : order.state;
      const range = { from: dateFrom, to: dateTo };
      return { id: Number(id), source, resource, ...range, state, requests, slices, proven, left, reason };
    }),
  );
  terminal.show({ backfills: listed }, () => draw(session, listed));
  return 0;
}

/** How fast each of these sources can be read, and whether a process reads it. */
async function statesOf({ settings }: Session, database: Database, names: ReadonlySet<string>) {
  const states = new Map<string, { pace: Pace; isRead: boolean }>();
  for (const source of settings.sources.filter(({ name }) => names.has(name))) {
    const usage = source.settings ? await openLedger(database, source.name, source.settings).usage() : null;
    const isRead = (await findReader(database, source.name)) !== null;
    states.set(source.name, { pace: paceOf(source, usage), isRead });
  }
  return states;
}

interface Listed {
  readonly id: number;
  readonly source: string;
  readonly resource: string;
  readonly from: string | null;
  readonly to: string | null;
  readonly state: string;
  readonly requests: number;
  readonly slices: number;
  readonly proven: number;
  readonly left: ReturnType<typeof estimateRemaining> | null;
  readonly reason: string | null;
}

function draw({ terminal, settings }: Session, listed: readonly Listed[]): string {
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
