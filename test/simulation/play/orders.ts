import { createOrder, readOrders } from '../../../src/warehouse/ledgers/orders.ts';
import { recordSlot } from '../../../src/warehouse/ledgers/slots.ts';
import { OWN } from '../plan/choose-declarations.ts';
import type { Action } from '../plan/plan.ts';
import { jobsRead } from './declare.ts';
import type { World } from './world.ts';

const DATED: ReadonlySet<string> = new Set(['invoices', 'transactions']);

/** Creates the orders or records the slots of an action; returns the ids of the orders. */
export async function placeOrders(
  world: World,
  { kind, resources, range }: Action,
  { whole = false }: { whole?: boolean } = {},
): Promise<string[]> {
  const { database, clock } = world;
  const ids: string[] = [];
  const own = jobsRead(world).has(OWN) ? [OWN] : [];
  for (const resource of [...resources, ...own]) {
    if (kind === 'slot') {
      await recordSlot(database.kysely, 'main', resource, new Date(clock.now()));
      continue;
    }
    const dates = kind === 'backfill' && DATED.has(resource) ? range : {};
    const order = { source: 'main', resource, kind: kind === 'repair' ? ('verify' as const) : kind };
    ids.push(
      (
        await createOrder(database.kysely, {
          ...order,
          ...dates,
          repair: kind === 'repair',
          whole: whole && kind === 'sync',
        })
      ).id,
    );
  }
  return ids;
}

/** Checks that no run or order is still open, and that every failed run has a reason. Returns `done` or the reason of each order. */
export async function checkAllEnded(world: World, ids: readonly string[], what: string): Promise<string[]> {
  const { database, problems } = world;
  const { rows } = await database.query<{ run: string }>(
    `select resource || ' ' || kind || ' ' || state as run from sluice.runs where ended_at is null
     or (state = 'failed' and reason is null)`,
  );
  for (const { run } of rows) problems.push(`after ${what}, a run is open or has no reason: ${run}`);
  const orders = await readOrders(database.kysely, ids);
  for (const order of orders)
    if (order.reason?.includes('nothing is being read'))
      problems.push(`after ${what}, the order for ${order.resource} stood still`);
  for (const order of orders)
    if (order.state !== 'done' && order.state !== 'failed')
      problems.push(`after ${what}, the order for ${order.resource} is ${order.state}`);
  return orders.map(order => (order.state === 'done' ? 'done' : (order.reason ?? order.state)));
}
