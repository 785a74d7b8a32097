import { Hono } from 'hono';
import { html } from 'hono/html';
import { stampMs } from '../../clock.ts';
import { openResource } from '../../engine/resource.ts';
import { sliceText } from '../../engine/slices/slice.ts';
import { isKind } from '../../errors.ts';
import { shellWord } from '../../next-steps.ts';
import { findReferences, type Reference } from '../../warehouse/erasure/traces.ts';
import type { EndedVersion, StoredValues } from '../../warehouse/reports/stored-record.ts';
import { possibleKey } from '../../warehouse/rows/tables.ts';
import { formFields } from '../access/form-guard.ts';
import { plural, valueText, wordsOfSlice } from '../format.ts';
import type { Html } from '../html-document.ts';
import { placeOrder } from '../orders/order-requests.ts';
import { changedFields, type RecordStory, readStory, recordVerdict } from '../record/record-story.ts';
import { wakeUp } from '../schedule/wake-ups.ts';
import type { ServedSource } from '../status/served-source.ts';
import { type ConsoleParts, nowIn, sourceNamed, withoutSecrets } from './console-parts.ts';
import {
  ago,
  card,
  commandBox,
  documentOf,
  facts,
  type Icon,
  icon,
  type Now,
  table,
  verdictSection,
} from './elements.ts';
import { kindWord } from './state-sections.ts';

export const recordRoutes = (parts: ConsoleParts): Hono =>
  new Hono()
    .post('/record/:resource/:key', async (c, next) => {
      const { resource, key } = c.req.param();
      const source = sourceNamed(parts, (await formFields(c)).source);
      const job = source?.jobs.get(resource);
      if (source === undefined || job === undefined) return next();
      const list = { source: source.name, schema: source.schema, name: resource, job };
      const { table } = await openResource(parts.database.kysely, list);
      const stored = possibleKey(table, key);
      if (stored === null) return next();
      const order = { resource, kind: 'refresh', targets: [sliceText({ by: 'one', key: stored })] } as const;
      const { id } = await placeOrder(parts.database, source.name, order);
      await wakeUp(parts.database, source.name);
      return c.redirect(`/orders/${id}`, 303);
    })
    .get('/record/:resource/:key', async (c, next) => {
      const { database, sources } = parts;
      const { resource: name, key } = c.req.param();
      const asked = c.req.query('source');
      const source = sources.find(each => (asked === undefined || each.name === asked) && each.jobs.has(name));
      const job = source?.jobs.get(name);
      if (source === undefined || job === undefined) return next();
      try {
        const { schema } = source;
        const read = await readStory(database, { source: source.name, schema, name, job }, key);
        const story = { ...read, quarantined: read.quarantined && withoutSecrets(parts, read.quarantined) };
        const references = await findReferences(database.kysely, {
          schema,
          resource: name,
          id: story.key,
          versions: false,
        });
        const page = recordPage(parts, story, { jobs: source.jobs, references }, await nowIn(parts, source));
        return await c.html(page, story.state === 'unknown' ? 404 : 200);
      } catch (error) {
        if (isKind(error, 'usage')) return next();
        throw error;
      }
    });

const ICONS = { stored: 'ok', missing: 'warn', deleted: 'gone', quarantined: 'bad', unknown: 'off' } as const;

/** Is this row right now, what changed, and which run and request brought it? */
function recordPage(
  parts: ConsoleParts,
  story: RecordStory,
  { jobs, references }: { jobs: ServedSource['jobs']; references: readonly Reference[] },
  now: Now,
): Html {
  const { source, resource, key, state, current, children, quarantined } = story;
  const command = `sluice why ${resource} ${shellWord(key)}${parts.sources.length > 1 ? ` --source ${source}` : ''}`;
  const link = (list: string, id: string) => html`<a href="${recordPath(parts, source, list, id)}">${id}</a>`;
  const shownValue = (field: string, text: string): Html | string => {
    if (text === '') return html`<span class="soft">null</span>`;
    // A field `<name>_id` names a record of the list `<name>s`.
    const list = field.endsWith('_id') ? `${field.slice(0, -3)}s` : '';
    return jobs.has(list) ? link(list, text) : text;
  };
  const main = html`<p class="crumb"><a href="/data">Data</a> / <a href="/data/${encodeURIComponent(source)}/${encodeURIComponent(resource)}">${resource}</a> / ${key}</p>
${verdictSection({ icon: ICONS[state], ...recordVerdict(story, now.at) })}
<div class="grid wide">
<div class="col">
${card('Its story', html`<ol class="story">${events(story, now)}</ol>`, 'newest first')}
${quarantined === null ? '' : card('The record as it came', html`<pre class="payload">${quarantined.payload}</pre>`)}
</div>
<div class="col">
${current === null ? '' : card('Current version', valueList(current.row, shownValue))}
${Object.entries(children).map(([field, rows]) => childTable(field, rows))}
${references.length === 0 ? '' : card('Rows that name it', facts(references.map(({ resource: name, rows, keys }) => [name, html`${plural(rows, 'row')}: ${keys.map(each => html`${link(name, each)} `)}${rows > keys.length ? '..' : ''}`])))}
${card('Read it now', html`<form method="post" action="${recordPath(parts, source, resource, key)}"><input type="hidden" name="source" value="${source}"><button>Refresh <span class="cost">a few requests</span></button></form>`)}
${card('The same in a terminal', commandBox(command))}
</div>
</div>`;
  return documentOf({ title: `${resource} ${key}`, section: '/data', ...now, main });
}

function events({ quarantined, missing, held, current, ended }: RecordStory, now: Now): Html[] {
  const list: Html[] = [];
  const add = (shape: Icon, title: string, at: number, ...body: (Html | string)[]) =>
    list.push(
      html`<li>${icon(shape)}<div class="head"><h3>${title}</h3><span class="soft">${ago(at, now)}</span></div>${body}</li>`,
    );
  if (quarantined !== null) {
    const { reasons, firstSeen, lastSeen, slice, attempts } = quarantined;
    const why = html`<ul>${Object.entries(reasons).map(([field, reason]) => html`<li><code>${field}</code>: ${reason}</li>`)}</ul>`;
    const tried = html`<p class="soft">First seen ${ago(stampMs(firstSeen), now)} in a reading of ${wordsOfSlice(slice)}; tried ${plural(attempts, 'time')}. It leaves the quarantine when the source corrects or removes it.</p>`;
    add('bad', 'In quarantine', stampMs(lastSeen), why, tried);
  }
  if (missing !== null) {
    const seen = html`<p>A reading of ${wordsOfSlice(missing.slice)} no longer showed it.</p>`;
    add('warn', 'Went missing', missing.since, seen, html`<p class="soft">${missing.why}</p>`);
  }
  for (const { field, since } of held)
    add('warn', 'Held', since, html`<p>The source shows <code>${field}</code> empty; what was stored stays.</p>`);
  if (current !== null) {
    const { since, readAt, arrival, row } = current;
    const changes = changesSince(ended[0], row);
    const how =
      arrival.runId === null
        ? 'Its run is no longer kept'
        : html`${runLink(arrival.runId)}, ${kindWord(arrival.kind ?? '')}`;
    const brought = html`<p class="soft">${how}${arrival.purpose === null ? '' : html` · asked for ${arrival.purpose}`} · request granted ${ago(readAt, now)}</p>`;
    if (changes === '') add('new', 'Current version, since', since, brought);
    else add('edit', 'Changed to what it is now', since, changes, brought);
  }
  for (const [place, { row, from, to, endedBy, runId }] of ended.entries()) {
    if (endedBy === 'changed') add('edit', 'An earlier version, since', from, changesSince(ended[place + 1], row));
    else {
      const values = Object.fromEntries(Object.entries(row).filter(([name]) => !name.startsWith('_')));
      const run = runId === null ? '' : html`<p class="soft">${runLink(runId)}</p>`;
      add('gone', 'Deleted at the source', to, valueList(values), run);
    }
  }
  if (list.length === 0) list.push(html`<li>${icon('off')}<p>Nothing is known of it.</p></li>`);
  return list;
}

const runLink = (id: string): Html => html`<a href="/runs/${id}">Run ${id}</a>`;

/** What a version changed of the one before it; nothing where that one did not end by a change. */
const changesSince = (before: EndedVersion | undefined, row: StoredValues): Html | string =>
  before?.endedBy === 'changed' ? differences(before.row, row) : '';

/** Before struck out, after in bold. */
function differences(before: StoredValues, after: StoredValues): Html {
  return html`<table class="diff"><caption class="sr">What changed</caption><tbody>${changedFields(before, after).map(
    ({ field, before: old, after: fresh }) =>
      html`<tr><th scope="row"><code>${field}</code></th><td><del>${valueText(old)}</del></td><td><ins>${valueText(fresh)}</ins></td></tr>`,
  )}</tbody></table>`;
}

const valueList = (row: StoredValues, shown = (_field: string, text: string): Html | string => text): Html =>
  facts(Object.entries(row).map(([name, value]) => [html`<code>${name}</code>`, shown(name, valueText(value, ''))]));

function childTable(field: string, rows: readonly StoredValues[]): Html {
  if (rows.length === 0) return card(field, html`<p class="soft">None.</p>`);
  const names = [...new Set(rows.flatMap(row => Object.keys(row)))];
  const head = ['line', ...names.filter(name => name !== 'line' && name !== '_extra')];
  const cells = rows.map(row => head.map(name => valueText(row[name], '')));
  return card(field, table({ caption: field, head, right: [], rows: cells }), String(rows.length));
}

/** The address of a record's page; it names the source where there are several. */
export function recordPath({ sources }: ConsoleParts, source: string, resource: string, key: string): string {
  const path = `/record/${encodeURIComponent(resource)}/${encodeURIComponent(key)}`;
  return sources.length > 1 ? `${path}?source=${encodeURIComponent(source)}` : path;
}
