import { Hono } from 'hono';
import { html } from 'hono/html';
import { confirmationOf } from '../../../engine/deletion/is-deleted.ts';
import { openResource, placeOf } from '../../../engine/resource.ts';
import { stampMs } from '../../../warehouse/database/stamp.ts';
import { listMissing } from '../../../warehouse/rows/missing-rows.ts';
import { listQuarantine, type QuarantinedRecord } from '../../../warehouse/rows/quarantine.ts';
import { count, plural } from '../../format.ts';
import { whyMissing } from '../../record/read-story.ts';
import type { ServedSource } from '../../status/served-source.ts';
import { wordsOfSlice } from '../../status/slice-words.ts';
import { type ConsoleParts, nowIn } from '../console-parts.ts';
import { documentOf } from '../document.ts';
import { ago, card, type Html, type Now } from '../elements.ts';
import { recordPath } from '../record/record-page.ts';

const MOST_EXCEPTIONS = 200;

export function exceptionRoutes(parts: ConsoleParts): Hono {
  const { database, sources, hide } = parts;
  const several = sources.length > 1;
  const find = (name: string) => sources.find(each => each.name === name);
  return new Hono()
    .get('/quarantine/:source', async (c, next) => {
      const source = find(c.req.param('source'));
      if (source === undefined) return next();
      const records = await listQuarantine(database.kysely, source.name, MOST_EXCEPTIONS);
      return c.html(quarantinePage(records, { source: source.name, several, hide }, await nowIn(parts, source)));
    })
    .get('/missing/:source', async (c, next) => {
      const source = find(c.req.param('source'));
      if (source === undefined) return next();
      const rows = await readMissing(parts, source);
      return c.html(missingPage(rows, { source: source.name, several, hide }, await nowIn(parts, source)));
    });
}

interface Shown {
  readonly source: string;
  readonly several: boolean;
  readonly hide: (text: string) => string;
}

/** Records that could not be stored, each with the reason and as it came. */
function quarantinePage(records: readonly QuarantinedRecord[], { source, several, hide }: Shown, now: Now): Html {
  const list = html`<ul class="queue">${records.map(
    ({ resource, key, reasons, payload, slice, firstSeen, lastSeen, attempts }) =>
      html`<li><div class="head"><h3><a href="${recordPath({ resource, key, source, several })}">${resource} ${key.length > 24 ? `${key.slice(0, 12)}..` : key}</a></h3><span class="soft">seen ${ago(stampMs(lastSeen), now)}</span></div>
${Object.entries(reasons).map(([field, reason]) => html`<p><code>${field}</code>: ${hide(reason)}</p>`)}
<p class="soft">First seen ${ago(stampMs(firstSeen), now)} in a reading of ${wordsOfSlice(slice)}; tried ${plural(attempts, 'time')}.</p>
<details><summary>The record as it came</summary><pre class="payload">${hide(payload)}</pre></details></li>`,
  )}</ul>`;
  return page(
    'Quarantine',
    source,
    records.length,
    [
      html`<p class="soft">A record leaves the quarantine when the source corrects or removes it; each reading tries it again. Its last good version stays in its table.</p>`,
      records.length === 0 ? html`<p class="after">The quarantine is empty.</p>` : list,
    ],
    now,
  );
}

interface ShownMissing {
  readonly resource: string;
  readonly key: string;
  readonly slice: string;
  readonly since: number;
  readonly why: string;
}

/** Rows that the source no longer shows, and why each is not deleted yet. */
function missingPage(rows: readonly ShownMissing[], { source, several }: Shown, now: Now): Html {
  const list = html`<ul class="queue">${rows.map(
    ({ resource, key, slice, since, why }) =>
      html`<li><div class="head"><h3><a href="${recordPath({ resource, key, source, several })}">${resource} ${key}</a></h3><span class="soft">missing for ${ago(since, now)}</span></div>
<p>A reading of ${wordsOfSlice(slice)} no longer shows it.</p><p class="soft">${why}</p></li>`,
  )}</ul>`;
  return page(
    'Missing rows',
    source,
    rows.length,
    [
      html`<p class="soft">The source no longer shows these rows. They stay in their table until their deletion is proven, since a row may only have moved.</p>`,
      rows.length === 0 ? html`<p class="after">No row is missing.</p>` : list,
    ],
    now,
  );
}

const page = (title: string, source: string, found: number, body: readonly (Html | string)[], now: Now): Html =>
  documentOf({
    title,
    section: '/data',
    ...now,
    main: html`<p class="crumb"><a href="/data">Data</a> / ${source}</p><h1>${title}</h1>${card(`${count(found)} of ${source}`, body)}`,
  });

async function readMissing({ database }: ConsoleParts, source: ServedSource): Promise<ShownMissing[]> {
  const { kysely } = database;
  const shown: ShownMissing[] = [];
  for (const [name, job] of source.jobs) {
    const resource = await openResource(database, { source: source.name, name, job, schema: source.schema });
    const { strategy, table } = resource;
    for (const row of await listMissing(kysely, placeOf(resource), table, strategy.relatedBy)) {
      const { key, slice, since } = row;
      const why = whyMissing(row, confirmationOf(row, strategy), strategy.relatedBy);
      shown.push({ resource: name, key, slice, since: stampMs(since), why });
    }
  }
  return shown.slice(0, MOST_EXCEPTIONS);
}
