import { type Context, Hono } from 'hono';
import { isKind } from '../../../errors.ts';
import { databaseNow } from '../../../warehouse/database/now.ts';
import { openOrders, readOrders } from '../../../warehouse/ledgers/orders.ts';
import { listRuns } from '../../../warehouse/reports/run-history.ts';
import { csrfField } from '../../access/form-guard.ts';
import { estimateReading, finishTime } from '../../orders/order-cost.ts';
import { parseRange } from '../../orders/order-range.ts';
import { changeOrder, isOrderChange, placeOrder } from '../../orders/order-requests.ts';
import { wakeUp } from '../../schedule/wake-up-queue.ts';
import type { ServedSource } from '../../status/served-source.ts';
import { type ConsoleParts, isId } from '../console-parts.ts';
import { newOrderPage, type OrderForm, type Price, WORK, type Work } from './new-order-page.ts';
import { orderPage } from './order-page.ts';
import { paceOf, withProgress } from './read-orders.ts';

const MOST_RUNS = 50;

export function orderRoutes(parts: ConsoleParts): Hono {
  const { database, sources, hide } = parts;
  const { kysely } = database;
  const find = async (id: string) => {
    const [order] = isId(id) ? await readOrders(kysely, [id]) : [];
    const source = sources.find(({ name }) => name === order?.source);
    return order && source ? { order, source } : null;
  };
  return new Hono()
    .get('/orders/new', async (c, next) => newOrder(parts, c, name => c.req.query(name), next))
    .post('/orders', async (c, next) => {
      const fields = await c.req.parseBody();
      const given = (name: string) => (typeof fields[name] === 'string' ? fields[name] : undefined);
      return place(parts, c, given, next);
    })
    .get('/orders/:id', async (c, next) => {
      const found = await find(c.req.param('id'));
      if (found === null) return next();
      const { order, source } = found;
      const sharing = (await openOrders(kysely, source.name)).length;
      const [shown] = await withProgress(database, source, [order], Math.max(sharing, 1));
      if (shown === undefined) return next();
      const runs = await listRuns(kysely, { sources: [source.name], orderId: order.id }, MOST_RUNS);
      const now = { at: await databaseNow(database), timeZone: source.timeZone };
      return c.html(String(await orderPage({ order: shown, runs, csrf: csrfField(c), hide }, now)));
    })
    .post('/orders/:id/:change', async (c, next) => {
      const found = await find(c.req.param('id'));
      const change = c.req.param('change');
      if (found === null || !isOrderChange(change)) return next();
      await changeOrder(database, found.order, change);
      // It may have ended meanwhile: its page shows how.
      return c.redirect(`/orders/${found.order.id}`, 303);
    });
}

type Given = (name: string) => string | undefined;

/** The form as it was sent, with the first source and resource where none was named; null for one that does not exist. */
function readForm({ sources }: ConsoleParts, given: Given): { source: ServedSource; form: OrderForm } | null {
  const source = sources.find(({ name }) => name === (given('source') ?? sources[0]?.name));
  const [first] = source?.jobs.keys() ?? [];
  const resource = given('resource') ?? first;
  const work = given('work') ?? 'backfill';
  if (source === undefined || resource === undefined || !source.jobs.has(resource) || !Object.hasOwn(WORK, work))
    return null;
  return {
    source,
    form: { source: source.name, resource, work: work as Work, from: given('from') ?? '', to: given('to') ?? '' },
  };
}

const DAYS = { from: 'The first day', to: 'The last day' };

/** Kind `usage` for days that cannot be. A verification compares everything. */
function rangeOf({ jobs }: ServedSource, { resource, work, from, to }: OrderForm) {
  if (work !== 'backfill') return { from: null, to: null };
  return parseRange(jobs, resource, { from: from || undefined, to: to || undefined }, DAYS);
}

async function newOrder(parts: ConsoleParts, c: Context, given: Given, next: () => Promise<void>) {
  const read = readForm(parts, given);
  if (read === null) return next();
  const { source, form } = read;
  let price: Price | null = null;
  let trouble: string | null = null;
  try {
    if (given('resource') !== undefined) price = await priceOf(parts, source, form);
  } catch (error) {
    if (!isKind(error, 'usage')) throw error;
    trouble = [error.message, error.next].filter(Boolean).join(' ');
  }
  const names = parts.sources.map(({ name }) => name);
  const page = { sources: names, resources: [...source.jobs.keys()], form, price, trouble, csrf: csrfField(c) };
  const now = { at: await databaseNow(parts.database), timeZone: source.timeZone };
  return c.html(String(await newOrderPage(page, now)), c.req.method === 'POST' ? 400 : 200);
}

async function priceOf({ database }: ConsoleParts, source: ServedSource, form: OrderForm): Promise<Price> {
  const job = source.jobs.get(form.resource);
  if (job === undefined) throw new Error(`There is no resource ${form.resource}.`);
  const list = { source: source.name, schema: source.schema, name: form.resource, job };
  const estimate = await estimateReading(database, list, rangeOf(source, form));
  const { free, limit } = await source.usage();
  const finish = finishTime(estimate.requests, await paceOf(source), await databaseNow(database));
  return { estimate, free, limit, finishesAt: estimate.neverRead > 0 ? null : finish };
}

async function place(parts: ConsoleParts, c: Context, given: Given, next: () => Promise<void>) {
  const read = readForm(parts, given);
  if (read === null) return next();
  const { source, form } = read;
  try {
    const { from, to } = rangeOf(source, form);
    const order = await placeOrder(parts.database, source.name, {
      resource: form.resource,
      kind: form.work === 'backfill' ? 'backfill' : 'verify',
      repair: form.work === 'repair',
      dateFrom: from,
      dateTo: to,
    });
    await wakeUp(parts.database, source.name);
    return c.redirect(`/orders/${order.id}`, 303);
  } catch (error) {
    if (!isKind(error, 'usage')) throw error;
    return newOrder(parts, c, given, next);
  }
}
