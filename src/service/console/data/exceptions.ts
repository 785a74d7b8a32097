import { Hono } from 'hono';
import { html } from 'hono/html';
import { stampMs } from '../../../clock.ts';
import { confirmationOf } from '../../../engine/deletion/is-deleted.ts';
import { openResource, placeOf } from '../../../engine/resource.ts';
import { listMissing } from '../../../warehouse/rows/missing-rows.ts';
import { listQuarantine } from '../../../warehouse/rows/quarantine.ts';
import { count, plural } from '../../format.ts';
import { whyMissing } from '../../record/read-story.ts';
import type { ServedSource } from '../../status/served-source.ts';
import { wordsOfSlice } from '../../status/slice-words.ts';
import { type ConsoleParts, nowIn } from '../console-parts.ts';
import { ago, card, documentOf, type Html, type Now } from '../elements.ts';
import { recordPath } from '../record/record-page.ts';

const MOST_EXCEPTIONS = 200;

export function exceptionRoutes(parts: ConsoleParts): Hono {
  const app = new Hono();
  for (const [kind, page] of Object.entries({ quarantine: quarantinePage, missing: missingPage }))
    app.get(`/${kind}/:source`, async (c, next) => {
      const source = parts.sources.find(({ name }) => name === c.req.param('source'));
      return source === undefined ? next() : c.html(await page(parts, source));
    });
  return app;
}

/** Records that could not be stored, each with the reason and as it came. */
async function quarantinePage(parts: ConsoleParts, source: ServedSource): Promise<Html> {
  const { database, sources, hide } = parts;
  const of = { source: source.name, several: sources.length > 1 };
  const records = await listQuarantine(database.kysely, source.name, MOST_EXCEPTIONS);
  const now = await nowIn(parts, source);
  const items = records.map(
    ({ resource, key, reasons, payload, slice, firstSeen, lastSeen, attempts }) =>
      html`<li><div class="head"><h3><a href="${recordPath({ resource, key, ...of })}">${resource} ${key.length > 24 ? `${key.slice(0, 12)}..` : key}</a></h3><span class="soft">seen ${ago(stampMs(lastSeen), now)}</span></div>
${Object.entries(reasons).map(([field, reason]) => html`<p><code>${field}</code>: ${hide(reason)}</p>`)}
<p class="soft">First seen ${ago(stampMs(firstSeen), now)} in a reading of ${wordsOfSlice(slice)}; tried ${plural(attempts, 'time')}.</p>
<details><summary>The record as it came</summary><pre class="payload">${hide(payload)}</pre></details></li>`,
  );
  const what =
    'A record leaves the quarantine when the source corrects or removes it; each reading tries it again. Its last good version stays in its table.';
  return listPage('Quarantine', source, { what, items, none: 'The quarantine is empty.' }, now);
}

/** Rows that the source no longer shows, and why each is not deleted yet. */
async function missingPage(parts: ConsoleParts, source: ServedSource): Promise<Html> {
  const { database, sources } = parts;
  const of = { source: source.name, several: sources.length > 1 };
  const now = await nowIn(parts, source);
  const items: Html[] = [];
  for (const [name, job] of source.jobs) {
    const resource = await openResource(database, { source: source.name, name, job, schema: source.schema });
    const { strategy, table } = resource;
    for (const row of await listMissing(database.kysely, placeOf(resource), table, strategy.relatedBy)) {
      const { key, slice, since } = row;
      const why = whyMissing(row, confirmationOf(row, strategy), strategy.relatedBy);
      if (items.length < MOST_EXCEPTIONS)
        items.push(html`<li><div class="head"><h3><a href="${recordPath({ resource: name, key, ...of })}">${name} ${key}</a></h3><span class="soft">missing for ${ago(stampMs(since), now)}</span></div>
<p>A reading of ${wordsOfSlice(slice)} no longer shows it.</p><p class="soft">${why}</p></li>`);
    }
  }
  const what =
    'The source no longer shows these rows. They stay in their table until their deletion is proven, since a row may only have moved.';
  return listPage('Missing rows', source, { what, items, none: 'No row is missing.' }, now);
}

function listPage(
  title: string,
  { name }: ServedSource,
  { what, items, none }: { what: string; items: readonly Html[]; none: string },
  now: Now,
): Html {
  const list = items.length === 0 ? html`<p class="after">${none}</p>` : html`<ul class="queue">${items}</ul>`;
  const body = card(`${count(items.length)} of ${name}`, [html`<p class="soft">${what}</p>`, list]);
  const main = html`<p class="crumb"><a href="/data">Data</a> / ${name}</p><h1>${title}</h1>${body}`;
  return documentOf({ title, section: '/data', ...now, main });
}
