import { Hono } from 'hono';
import { html } from 'hono/html';
import { capitalized, SluiceError } from '../../errors.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import { formFields } from '../access/form-guard.ts';
import { count, durationText, moment, plural } from '../format.ts';
import type { Html } from '../html-document.ts';
import { estimateReading, finishTime, paceOf } from '../orders/order-cost.ts';
import { parseRange, placeOrder, rangeText } from '../orders/order-requests.ts';
import { wakeUp } from '../schedule/wake-ups.ts';
import type { ServedSource } from '../status/served-source.ts';
import { type ConsoleParts, nowIn, refusable, refusalText, sourceNamed } from './console-parts.ts';
import { ago, card, choice, documentOf, hidden, type Now, sourceField, table } from './elements.ts';

/** A form that shows the price of an order, and then places it. */
export const newOrderRoutes = (parts: ConsoleParts): Hono =>
  new Hono()
    .get('/orders/new', async (c, next) => {
      const read = readForm(parts, c.req.query());
      return read === null ? next() : c.html(await formPage(parts, read));
    })
    .post('/orders', async (c, next) => {
      const read = readForm(parts, await formFields(c));
      if (read === null) return next();
      const { source, form } = read;
      const { resource, work } = form;
      const order = await refusable(async () => {
        const { from: dateFrom, to: dateTo } = rangeOf(source, form);
        const kind = work === 'backfill' ? 'backfill' : 'verify';
        return placeOrder(parts.database, source.name, { resource, kind, repair: work === 'repair', dateFrom, dateTo });
      });
      if (order instanceof SluiceError) return c.html(await formPage(parts, read, order), 400);
      await wakeUp(parts.database, source.name);
      return c.redirect(`/orders/${order.id}`, 303);
    });

/** What an order can do, by the value of its field. */
const WORK = {
  backfill: 'Backfill: read it again',
  verify: 'Verify: compare, change nothing',
  repair: 'Repair: compare, and make it equal',
} as const;

type Work = keyof typeof WORK;

/** The form as it was sent, with the first source and resource where none was named; null for one that does not exist. */
function readForm(parts: ConsoleParts, given: Readonly<Record<string, string | undefined>>) {
  const source = sourceNamed(parts, given.source ?? parts.sources[0]?.name);
  const [first] = source?.jobs.keys() ?? [];
  const { resource = first, work = 'backfill', from = '', to = '' } = given;
  if (source === undefined || resource === undefined || !source.jobs.has(resource) || !Object.hasOwn(WORK, work))
    return null;
  const form = { source: source.name, resource, work: work as Work, from, to };
  return { source, form, isChosen: given.resource !== undefined };
}

type FormRead = NonNullable<ReturnType<typeof readForm>>;
type OrderForm = FormRead['form'];

const DAYS = { from: 'The first day', to: 'The last day' };

/** Kind `usage` for days that cannot be. A verification compares everything. */
function rangeOf({ jobs }: ServedSource, { resource, work, from, to }: OrderForm) {
  if (work !== 'backfill') return { from: null, to: null };
  return parseRange(jobs, resource, { from: from || undefined, to: to || undefined }, DAYS);
}

/** Choose, see the price, then start. `trouble`: why it was not started. */
async function formPage(
  parts: ConsoleParts,
  { source, form, isChosen }: FormRead,
  trouble: SluiceError | null = null,
): Promise<Html> {
  const priced = isChosen && trouble === null ? await refusable(() => priceOf(parts, source, form)) : trouble;
  const price = priced instanceof SluiceError ? null : priced;
  const now = await nowIn(parts, source);
  const day = (name: 'from' | 'to', label: string) =>
    html`<label class="field"><span>${label}</span><input type="date" name="${name}" value="${form[name]}"></label>`;
  const fields = html`<form method="get" action="/orders/new" class="fields">
${sourceField(parts.sources, form.source)}
${choice('resource', 'Resource', [...source.jobs.keys()], form.resource)}
${choice('work', 'Work', Object.keys(WORK), form.work, '', value => WORK[value as Work])}
${day('from', 'First day (backfill)')}
${day('to', 'Last day (backfill)')}
<button${price === null ? html` class="main"` : ''}>Show the cost</button></form>`;
  const main = html`<p class="crumb"><a href="/runs">Runs and orders</a> / New</p>
<h1>New order</h1>
${card('What to read', [fields, refusalText(parts, priced instanceof SluiceError ? priced : null)])}
${price === null ? '' : priceCard(price, form, now)}`;
  return documentOf({ title: 'New order', section: '/runs', ...now, main, isStill: true });
}

const MOST_PARTS = 40;

function priceCard({ estimate, range, free, limit, finishesAt }: Price, form: OrderForm, now: Now): Html {
  const { parts, requests, rows, neverRead } = estimate;
  const { source, resource, work, from, to } = form;
  const cost = requests > 0 ? `about ${plural(requests, 'request')}` : 'not known yet';
  const title = `${capitalized(work)} ${resource}, ${rangeText(range)}`;
  const finish =
    finishesAt === null
      ? `${plural(neverRead, 'part')} of ${count(parts.length)} ${neverRead === 1 ? 'was' : 'were'} never read, so the cost and the end are not known yet.`
      : html`Done ${ago(finishesAt, now)}, at about ${moment(finishesAt, now.timeZone).slice(0, 16)}, if nothing else is asked for.`;
  return card(title, [
    html`<p class="big">${requests > 0 ? html`<small>about</small> ${count(requests)} <small>${requests === 1 ? 'request' : 'requests'}</small>` : html`<small>Cost not known yet</small>`}</p>
<p>${finish}</p>
<p class="soft">${plural(rows, 'row')} in ${plural(parts.length, 'part')}. ${count(free)} of ${count(limit)} requests are left in this window; scheduled work goes first.</p>
<form method="post" action="/orders" class="after">${hidden({ source, resource, work, from, to })}
<button class="main">Start <span class="cost">${cost}</span></button></form>`,
    html`<details><summary>The parts</summary>${table({
      caption: 'Parts that would be read',
      head: ['part', 'last proven', 'rows', 'requests'],
      right: [2, 3],
      rows: parts
        .slice(0, MOST_PARTS)
        .map(({ slice, provenAt, rows, requests }) => [
          slice,
          provenAt === null ? 'never read' : html`${durationText((now.at - provenAt) / 1000)} ago`,
          rows === null ? '?' : count(rows),
          requests === null ? '?' : count(requests),
        ]),
    })}${parts.length > MOST_PARTS ? html`<p class="soft">and ${count(parts.length - MOST_PARTS)} more</p>` : ''}</details>`,
  ]);
}

async function priceOf({ database }: ConsoleParts, source: ServedSource, form: OrderForm) {
  const { name, schema, jobs } = source;
  const job = jobs.get(form.resource);
  if (job === undefined) throw new Error(`There is no resource ${form.resource}.`);
  const range = rangeOf(source, form);
  const estimate = await estimateReading(database, { source: name, schema, name: form.resource, job }, range);
  const usage = await source.usage();
  const finish = finishTime(estimate.requests, paceOf(source.rules, usage), await databaseNow(database));
  const { free, limit } = usage;
  return { estimate, range, free, limit, finishesAt: estimate.neverRead > 0 ? null : finish };
}

/** What the order would cost, as far as known; without a time to finish while a part was never read. */
type Price = Awaited<ReturnType<typeof priceOf>>;
