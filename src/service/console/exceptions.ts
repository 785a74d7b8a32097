import { Hono } from 'hono';
import { html } from 'hono/html';
import { stampMs } from '../../clock.ts';
import { confirmationOf } from '../../engine/deletion/is-deleted.ts';
import { openResource, placeOf } from '../../engine/resource.ts';
import { listMissing } from '../../warehouse/rows/missing-rows.ts';
import { listQuarantine } from '../../warehouse/rows/quarantine.ts';
import { count, plural } from '../format.ts';
import type { Html } from '../html-document.ts';
import { whyMissing } from '../record/read-story.ts';
import type { ServedSource } from '../status/served-source.ts';
import { wordsOfSlice } from '../status/slice-words.ts';
import { type ConsoleParts, nowIn, sourceNamed, withoutSecrets } from './console-parts.ts';
import { ago, card, documentOf, type Now } from './elements.ts';
import { recordPath } from './record-page.ts';

const MOST_EXCEPTIONS = 200;

const LISTS = {
  quarantine: {
    title: 'Quarantine',
    what: 'A record leaves the quarantine when the source corrects or removes it; each reading tries it again. Its last good version stays in its table.',
    none: 'The quarantine is empty.',
    read: quarantined,
  },
  missing: {
    title: 'Missing rows',
    what: 'The source no longer shows these rows. They stay in their table until their deletion is proven, since a row may only have moved.',
    none: 'No row is missing.',
    read: missing,
  },
};

export function exceptionRoutes(parts: ConsoleParts): Hono {
  const app = new Hono();
  for (const [path, { title, what, none, read }] of Object.entries(LISTS))
    app.get(`/${path}/:source`, async (c, next) => {
      const source = sourceNamed(parts, c.req.param('source'));
      if (source === undefined) return next();
      const now = await nowIn(parts, source);
      const items = await read(parts, source, now);
      const list = items.length === 0 ? html`<p class="after">${none}</p>` : html`<ul class="queue">${items}</ul>`;
      const body = card(`${count(items.length)} of ${source.name}`, [html`<p class="soft">${what}</p>`, list]);
      const main = html`<p class="crumb"><a href="/data">Data</a> / ${source.name}</p><h1>${title}</h1>${body}`;
      return c.html(documentOf({ title, section: '/data', ...now, main }));
    });
  return app;
}

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
    const resource = await openResource(parts.database, { source, name, job, schema });
    const { strategy, table } = resource;
    for (const row of await listMissing(parts.database.kysely, placeOf(resource), table, strategy.relatedBy)) {
      const { key, slice, since } = row;
      const why = whyMissing(row, confirmationOf(row, strategy), strategy.relatedBy);
      items.push(html`<li><div class="head"><h3><a href="${recordPath(parts, source, name, key)}">${name} ${key}</a></h3><span class="soft">missing for ${ago(stampMs(since), now)}</span></div>
<p>A reading of ${wordsOfSlice(slice)} no longer shows it.</p><p class="soft">${why}</p></li>`);
    }
  }
  return items.slice(0, MOST_EXCEPTIONS);
}
