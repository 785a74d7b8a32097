import { type Context, Hono } from 'hono';
import { html } from 'hono/html';
import { isKind } from '../../../errors.ts';
import { databaseNow } from '../../../warehouse/database/now.ts';
import { csrfField } from '../../access/form-guard.ts';
import { count, durationText, moment, plural } from '../../format.ts';
import { estimateReading, finishTime, type KnownPart, paceOf } from '../../orders/order-cost.ts';
import { parseRange, rangeText } from '../../orders/order-range.ts';
import { placeOrder } from '../../orders/order-requests.ts';
import { wakeUp } from '../../schedule/wake-ups.ts';
import type { ServedSource } from '../../status/served-source.ts';
import { type ConsoleParts, nowIn } from '../console-parts.ts';
import { ago, card, choice, day, documentOf, type Html, type Now, table } from '../elements.ts';

/** A form that shows the price of an order, and then places it. */
export const newOrderRoutes = (parts: ConsoleParts): Hono =>
  new Hono()
    .get('/orders/new', async (c, next) => newOrder(parts, c, name => c.req.query(name), next))
    .post('/orders', async (c, next) => {
      const fields = await c.req.parseBody();
      const given = (name: string) => (typeof fields[name] === 'string' ? fields[name] : undefined);
      return place(parts, c, given, next);
    });

/** What an order can do, by the value of its field. */
const WORK = {
  backfill: 'Backfill: read it again',
  verify: 'Verify: compare, change nothing',
  repair: 'Repair: compare, and make it equal',
} as const;

type Work = keyof typeof WORK;

type Given = (name: string) => string | undefined;

/** The form as it was sent, with the first source and resource where none was named; null for one that does not exist. */
function readForm({ sources }: ConsoleParts, given: Given) {
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

type OrderForm = NonNullable<ReturnType<typeof readForm>>['form'];

const DAYS = { from: 'The first day', to: 'The last day' };

/** Kind `usage` for days that cannot be. A verification compares everything. */
function rangeOf({ jobs }: ServedSource, { resource, work, from, to }: OrderForm) {
  if (work !== 'backfill') return { from: null, to: null };
  return parseRange(jobs, resource, { from: from || undefined, to: to || undefined }, DAYS);
}

/** Choose, see the price, then start. */
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
  const sources = parts.sources.map(({ name }) => name);
  const csrf = csrfField(c);
  const now = await nowIn(parts, source);
  const main = html`<p class="crumb"><a href="/runs">Runs and orders</a> / New</p>
<h1>New order</h1>
${card(
  'What to read',
  html`<form method="get" action="/orders/new" class="fields">
${sources.length > 1 ? choice('source', 'Source', sources, form.source) : html`<input type="hidden" name="source" value="${form.source}">`}
${choice('resource', 'Resource', [...source.jobs.keys()], form.resource)}
${choice('work', 'Work', Object.keys(WORK), form.work, '', value => WORK[value as Work])}
${day('from', 'First day (backfill)', form.from)}
${day('to', 'Last day (backfill)', form.to)}
<button${price === null ? html` class="main"` : ''}>Show the cost</button></form>
${trouble === null ? '' : html`<p class="bad after" role="alert">${trouble}</p>`}`,
)}
${price === null ? '' : priceCard(price, form, now, csrf)}`;
  const page = documentOf({ title: 'New order', section: '/runs', ...now, main, isStill: true });
  return c.html(page, c.req.method === 'POST' ? 400 : 200);
}

const MOST_PARTS = 40;

function priceCard({ estimate, free, limit, finishesAt }: Price, form: OrderForm, now: Now, csrf: Html): Html {
  const { parts, requests, rows, neverRead } = estimate;
  const { source, resource, work, from, to } = form;
  const cost = requests > 0 ? `about ${plural(requests, 'request')}` : 'not known yet';
  const title = `${work === 'backfill' ? 'Backfill' : work === 'verify' ? 'Verify' : 'Repair'} ${resource}, ${rangeText({ from: from || null, to: to || null })}`;
  const finish =
    finishesAt === null
      ? `${plural(neverRead, 'part')} of ${count(parts.length)} ${neverRead === 1 ? 'was' : 'were'} never read, so the cost and the end are not known yet.`
      : html`Done ${ago(finishesAt, now)}, at about ${moment(finishesAt, now.timeZone).slice(0, 16)}, if nothing else is asked for.`;
  const hidden = Object.entries({ source, resource, work, from, to });
  return card(title, [
    html`<p class="big">${requests > 0 ? html`<small>about</small> ${count(requests)} <small>${requests === 1 ? 'request' : 'requests'}</small>` : html`<small>Cost not known yet</small>`}</p>
<p>${finish}</p>
<p class="soft">${plural(rows, 'row')} in ${plural(parts.length, 'part')}. ${count(free)} of ${count(limit)} requests are left in this window; scheduled work goes first.</p>
<form method="post" action="/orders" class="after">${csrf}${hidden.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<button class="main">Start <span class="cost">${cost}</span></button></form>`,
    html`<details><summary>The parts</summary>${table({
      caption: 'Parts that would be read',
      head: ['part', 'last proven', 'rows', 'requests'],
      right: [2, 3],
      rows: parts.slice(0, MOST_PARTS).map(part => partRow(part, now)),
    })}${parts.length > MOST_PARTS ? html`<p class="soft">and ${count(parts.length - MOST_PARTS)} more</p>` : ''}</details>`,
  ]);
}

const partRow = ({ slice, provenAt, rows, requests }: KnownPart, now: Now): (string | Html)[] => [
  slice,
  provenAt === null ? 'never read' : html`${durationText((now.at - provenAt) / 1000)} ago`,
  rows === null ? '?' : count(rows),
  requests === null ? '?' : count(requests),
];

async function priceOf({ database }: ConsoleParts, source: ServedSource, form: OrderForm) {
  const job = source.jobs.get(form.resource);
  if (job === undefined) throw new Error(`There is no resource ${form.resource}.`);
  const list = { source: source.name, schema: source.schema, name: form.resource, job };
  const estimate = await estimateReading(database, list, rangeOf(source, form));
  const { free, limit } = await source.usage();
  const finish = finishTime(estimate.requests, paceOf(source.rules, await source.usage()), await databaseNow(database));
  return { estimate, free, limit, finishesAt: estimate.neverRead > 0 ? null : finish };
}

/** What the order would cost, as far as known; without a time to finish while a part was never read. */
type Price = Awaited<ReturnType<typeof priceOf>>;

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
