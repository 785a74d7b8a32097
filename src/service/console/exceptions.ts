import { Hono } from 'hono';
import { html } from 'hono/html';
import { stampMs } from '../../clock.ts';
import { confirmationOf } from '../../engine/deletion/is-deleted.ts';
import { quoted } from '../../engine/deletion/rewrite.ts';
import { fieldsBesideKey } from '../../engine/job.ts';
import { openResource, placeOf } from '../../engine/resource.ts';
import { resourceProofs } from '../../warehouse/reports/state-queries.ts';
import { listHeld } from '../../warehouse/rows/held-values.ts';
import { listMissing } from '../../warehouse/rows/missing-rows.ts';
import { listQuarantine } from '../../warehouse/rows/quarantine.ts';
import { openRewrites, settleRewrites } from '../../warehouse/rows/rewrites.ts';
import { formFields } from '../access/form-guard.ts';
import { count, plural, wordsOfSlice } from '../format.ts';
import type { Html } from '../html-document.ts';
import { placeOrder } from '../orders/order-requests.ts';
import { undoRuns } from '../orders/undo.ts';
import { whyMissing } from '../record/record-story.ts';
import { wakeUp } from '../schedule/wake-ups.ts';
import type { ServedSource } from '../status/served-source.ts';
import { sumOf } from '../status/source-state.ts';
import { type ConsoleParts, nowIn, sourceOf, withoutSecrets } from './console-parts.ts';
import { ago, card, documentOf, hidden, type Now, table } from './elements.ts';
import { recordPath } from './record-page.ts';

/** What a page shows at most. */
const MOST_EXCEPTIONS = 200;

const LISTS = {
  quarantine: {
    title: 'Quarantine',
    what: 'A record leaves the quarantine when the source corrects or removes it; each reading tries it again. Its last good version stays in its table.',
    none: 'The quarantine is empty.',
    read: quarantined,
    counted: 'quarantined',
  },
  missing: {
    title: 'Missing rows',
    what: 'The source no longer shows these rows. They stay in their table until their deletion is proven, since a row may only have moved.',
    none: 'No row is missing.',
    read: missing,
    counted: 'missing',
  },
  held: {
    title: 'Held values',
    what: 'The source shows these values as empty, in more rows than may be lost in a day. The stored values are kept; they leave this page once the source shows them again.',
    none: 'Nothing is held.',
    read: held,
    counted: 'held',
  },
  rewrites: {
    title: 'Rewritten values',
    what: 'More values of these columns were replaced within 24 hours than people usually change. The new values are stored. If they are wrong, correct the source before you undo: the next reading stores what it shows then.',
    none: 'No rewrite is open.',
    read: rewritten,
    counted: null,
  },
} as const;

export function exceptionRoutes(parts: ConsoleParts): Hono {
  const app = new Hono();
  app.post('/held/:source', async (c, next) => {
    const source = sourceOf(parts, c);
    const { resource = '', field = '' } = await formFields(c);
    const job = source.jobs.get(resource);
    if (job === undefined || !fieldsBesideKey(job).includes(field)) return next();
    const request = { resource, kind: 'sync', whole: true, acceptLosses: [field] } as const;
    const order = await placeOrder(parts.database, source.name, request);
    await wakeUp(parts.database, source.name);
    return c.redirect(`/orders/${order.id}`, 303);
  });
  app.post('/rewrites/:source', async (c, next) => {
    const source = sourceOf(parts, c);
    const { id = '', action = '' } = await formFields(c);
    const { kysely } = parts.database;
    const page = rewritesPath(source.name);
    const open = await openRewrites(kysely, source.name, [...source.jobs.keys()]);
    const rewrite = open.find(each => each.id === id);
    // Somebody else settled it in the meantime.
    if (rewrite === undefined) return c.redirect(page, 303);
    const { resource, field, runIds } = rewrite;
    if (action === 'accept') {
      await settleRewrites(kysely, { source: source.name, resource }, [field], 'accepted');
      return c.redirect(page, 303);
    }
    if (action !== 'undo') return next();
    const [undone] = await undoRuns(parts.database, source, runIds, { dryRun: false });
    return c.redirect(`/runs/${undone?.undoRun ?? rewrite.runId}`, 303);
  });
  for (const [path, { title, what, none, read, counted }] of Object.entries(LISTS))
    app.get(`/${path}/:source`, async c => {
      const source = sourceOf(parts, c);
      const now = await nowIn(parts, source);
      const items = await read(parts, source, now);
      const list = items.length === 0 ? html`<p class="after">${none}</p>` : html`<ul class="queue">${items}</ul>`;
      const all = counted === null ? items.length : await countAll(parts, source, counted);
      const cut = items.length === MOST_EXCEPTIONS && all > items.length ? `: the first ${MOST_EXCEPTIONS}` : '';
      const body = card(`${count(all)} of ${source.name}${cut}`, [html`<p class="soft">${what}</p>`, list]);
      const main = html`<p class="crumb"><a href="/data">Data</a> / ${source.name}</p><h1>${title}</h1>${body}`;
      return c.html(documentOf({ title, section: '/data', ...now, main }));
    });
  return app;
}

/** As the page of the tables counts them. */
async function countAll(
  { database }: ConsoleParts,
  { name: source, jobs }: ServedSource,
  of: 'quarantined' | 'missing' | 'held',
) {
  const places = [...jobs.keys()].map(resource => ({ source, resource }));
  return sumOf(await resourceProofs(database.kysely, places), of);
}

const rewritesPath = (source: string): string => `/rewrites/${encodeURIComponent(source)}`;

/** Records that could not be stored, each with the reason and as it came. */
async function quarantined(parts: ConsoleParts, { name: source }: ServedSource, now: Now): Promise<Html[]> {
  const records = await listQuarantine(parts.database.kysely, source, MOST_EXCEPTIONS);
  return records.map(record => {
    const { resource, key, reasons, payload, slice, firstSeen, lastSeen, attempts } = withoutSecrets(parts, record);
    return html`<li><div class="head"><h3><a href="${recordPath(parts, source, resource, key)}">${resource} ${key.length > 24 ? `${key.slice(0, 12)}..` : key}</a></h3><span class="soft">seen ${ago(stampMs(lastSeen), now)}</span></div>
${Object.entries(reasons).map(([field, reason]) => html`<p><code>${field}</code>: ${reason}</p>`)}
<p class="soft">First seen ${ago(stampMs(firstSeen), now)} in a reading of ${wordsOfSlice(slice)}; tried ${plural(attempts, 'time')}.</p>
<details><summary>The record as it came</summary><pre class="payload">${payload}</pre></details></li>`;
  });
}

/** Rows that the source no longer shows, and why each is not deleted yet. */
async function missing(parts: ConsoleParts, { name: source, jobs, schema }: ServedSource, now: Now): Promise<Html[]> {
  const items: Html[] = [];
  for (const [name, job] of jobs) {
    const resource = await openResource(parts.database.kysely, { source, name, job, schema });
    const { strategy, table } = resource;
    const left = MOST_EXCEPTIONS - items.length;
    for (const row of await listMissing(parts.database.kysely, placeOf(resource), table, strategy, left)) {
      const { key, slice, since } = row;
      const why = whyMissing(row, confirmationOf(row, strategy), strategy.relatedBy);
      items.push(html`<li><div class="head"><h3><a href="${recordPath(parts, source, name, key)}">${name} ${key}</a></h3><span class="soft">went missing ${ago(stampMs(since), now)}</span></div>
<p>A reading of ${wordsOfSlice(slice)} no longer shows it.</p><p class="soft">${why}</p></li>`);
    }
  }
  return items;
}

/** What is held of each list, by field, with the word that accepts the loss. */
async function held(parts: ConsoleParts, { name: source, jobs }: ServedSource, now: Now): Promise<Html[]> {
  const items: Html[] = [];
  for (const resource of jobs.keys())
    for (const { field, rows, since } of await listHeld(parts.database.kysely, { source, resource }))
      items.push(html`<li><div class="head"><h3>${resource}.${field}</h3><span class="soft">first shown empty ${ago(stampMs(since), now)}</span></div>
<p>The source shows it as empty in ${plural(rows, 'row')} with a stored value.</p>
<form method="post" action="/held/${encodeURIComponent(source)}" class="after">${hidden({ resource, field })}<button>Accept the loss</button></form></li>`);
  return items;
}

/** Each with three examples, and the two words that settle it. */
async function rewritten(parts: ConsoleParts, { name: source, jobs }: ServedSource, now: Now): Promise<Html[]> {
  const open = await openRewrites(parts.database.kysely, source, [...jobs.keys()]);
  return open.map(rewrite => {
    const { id, resource, field, rows, stored, looks, at, runIds, examples } = withoutSecrets(parts, rewrite);
    const button = (action: string, text: string) =>
      html`<form method="post" action="${rewritesPath(source)}">${hidden({ id, action })}<button>${text}</button></form>`;
    return html`<li><div class="head"><h3>${resource}.${field}</h3><span class="soft">told ${ago(stampMs(at), now)}</span></div>
<p>Replaced in ${count(rows)} of ${plural(stored, 'row')}.${looks === null ? '' : ` It looks like ${looks}.`}</p>
${table({
  caption: `Examples of ${resource}.${field}`,
  head: ['row', 'before', 'now'],
  right: [],
  rows: examples.map(({ key, before, after }) => [
    html`<a href="${recordPath(parts, source, resource, key)}">${key}</a>`,
    quoted(before),
    quoted(after),
  ]),
})}
<div class="row after">${button('accept', 'Accept')}${button('undo', `Undo ${runIds.length === 1 ? `run ${runIds[0]}` : plural(runIds.length, 'run')}`)}</div></li>`;
  });
}
