import { Hono } from 'hono';
import { html } from 'hono/html';
import { stampMs } from '../../../clock.ts';
import type { Job } from '../../../engine/job.ts';
import { isKind } from '../../../errors.ts';
import { findReferences, type Reference } from '../../../warehouse/erasure/traces.ts';
import type { EndedVersion, StoredValues } from '../../../warehouse/reports/stored-record.ts';
import { plural } from '../../format.ts';
import { changedFields, recordVerdict, valueText } from '../../record/describe-record.ts';
import { type RecordStory, readStory } from '../../record/read-story.ts';
import type { Tone } from '../../status/condition.ts';
import { wordsOfSlice } from '../../status/slice-words.ts';
import { type ConsoleParts, nowIn } from '../console-parts.ts';
import { ago, card, commandBox, documentOf, facts, type Html, type Icon, icon, type Now, table } from '../elements.ts';
import { kindWord } from '../runs/run-table.ts';

export const recordRoutes = (parts: ConsoleParts): Hono =>
  new Hono().get('/record/:resource/:key', async (c, next) => {
    const { database, sources, hide } = parts;
    const { resource: name, key } = c.req.param();
    const asked = c.req.query('source');
    const source = sources.find(each => (asked === undefined || each.name === asked) && each.jobs.has(name));
    const job = source?.jobs.get(name);
    if (source === undefined || job === undefined) return next();
    try {
      const { schema, jobs } = source;
      const story = await readStory(database, { source: source.name, schema, name, job }, key);
      const column = `${name.replace(/s$/, '')}_id`;
      const references = await findReferences(database.kysely, { schema, column, id: story.key });
      const shown = { jobs, several: sources.length > 1, references, hide };
      const now = await nowIn(parts, source);
      return await c.html(recordPage(story, shown, now), story.state === 'unknown' ? 404 : 200);
    } catch (error) {
      if (isKind(error, 'usage')) return next();
      throw error;
    }
  });

/** What the links of a page depend on. `several`: with several sources, they name this one. */
interface Linked {
  readonly jobs: ReadonlyMap<string, Job>;
  readonly several: boolean;
}

const SHAPES: Readonly<Record<RecordStory['state'], { icon: Icon; tone: Tone | '' }>> = {
  stored: { icon: 'ok', tone: 'good' },
  missing: { icon: 'warn', tone: 'warn' },
  deleted: { icon: 'gone', tone: '' },
  quarantined: { icon: 'bad', tone: 'bad' },
  unknown: { icon: 'off', tone: '' },
};

/** Is this row right now, what changed, and which run and request brought it? */
function recordPage(
  story: RecordStory,
  { jobs, several, references, hide }: Linked & { references: readonly Reference[]; hide: ConsoleParts['hide'] },
  now: Now,
): Html {
  const { source, resource, key, state, current, children } = story;
  const shape = SHAPES[state];
  const verdict = recordVerdict(story, now.at);
  const command = `sluice why ${resource} ${shellWord(key)}${several ? ` --source ${source}` : ''}`;
  const main = html`<p class="crumb"><a href="/data">Data</a> / <a href="/data/${encodeURIComponent(source)}/${encodeURIComponent(resource)}">${resource}</a> / ${key}</p>
<section class="verdict" aria-label="Verdict">${icon(shape.icon, shape.tone)}<div><h1>${verdict.text}</h1><p class="soft">${hide(verdict.rest)}</p></div></section>
<div class="grid wide">
<div class="col">
${card('Its story', html`<ol class="story">${events(story, now, hide)}</ol>`, 'newest first')}
${story.quarantined === null ? '' : card('The record as it came', html`<pre class="payload">${hide(story.quarantined.payload)}</pre>`)}
</div>
<div class="col">
${current === null ? '' : card('As it is now', rowList(current.row, { jobs, source, several }))}
${Object.entries(children).map(([field, rows]) => childTable(field, rows))}
${references.length === 0 ? '' : card('Rows that name it', facts(references.map(({ resource: name, rows, keys }) => [name, html`${plural(rows, 'row')}: ${keys.map(each => html`<a href="${recordPath({ resource: name, key: each, source, several })}">${each}</a> `)}${rows > keys.length ? '..' : ''}`])))}
${card('The same in a terminal', commandBox(command))}
</div>
</div>`;
  return documentOf({ title: `${resource} ${key}`, section: '/data', ...now, main });
}

/** A key as a shell takes it. */
const shellWord = (text: string): string => (/^[\w.-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

function events(story: RecordStory, now: Now, hide: (text: string) => string): Html[] {
  const { quarantined, missing, current, ended } = story;
  const list: Html[] = [];
  if (quarantined !== null)
    list.push(
      event('bad', 'bad', 'In quarantine', stampMs(quarantined.lastSeen), now, [
        html`<ul>${Object.entries(quarantined.reasons).map(([field, reason]) => html`<li><code>${field}</code>: ${hide(reason)}</li>`)}</ul>`,
        html`<p class="soft">First seen ${ago(stampMs(quarantined.firstSeen), now)} in a reading of ${wordsOfSlice(quarantined.slice)}; tried ${plural(quarantined.attempts, 'time')}. It leaves the quarantine when the source corrects or removes it.</p>`,
      ]),
    );
  if (missing !== null)
    list.push(
      event('warn', 'warn', 'Went missing', missing.since, now, [
        html`<p>A reading of ${wordsOfSlice(missing.slice)} no longer showed it.</p>`,
        html`<p class="soft">${missing.why}</p>`,
      ]),
    );
  const [last] = ended;
  if (current !== null) {
    const { since, readAt, arrival, row } = current;
    const before = last?.endedBy === 'changed' ? last : undefined;
    const how =
      arrival.runId === null
        ? 'Its run is no longer kept'
        : html`<a href="/runs/${arrival.runId}">Run ${arrival.runId}</a>, ${kindWord(arrival.kind ?? '')}`;
    list.push(
      event(before ? 'edit' : 'new', '', before ? 'Changed to what it is now' : 'As it is now, since', since, now, [
        before ? differences(before.row, row) : '',
        html`<p class="soft">${how}${arrival.purpose === null ? '' : html` · asked for ${arrival.purpose}`} · request granted ${ago(readAt, now)}</p>`,
      ]),
    );
  }
  ended.forEach((version, place) => {
    list.push(endedEvent(version, ended[place + 1], now));
  });
  if (list.length === 0) list.push(html`<li>${icon('off')}<p>Nothing is known of it.</p></li>`);
  return list;
}

function endedEvent({ row, from, to, endedBy, runId }: EndedVersion, before: EndedVersion | undefined, now: Now): Html {
  const run = runId === null ? '' : html`<p class="soft"><a href="/runs/${runId}">Run ${runId}</a></p>`;
  if (endedBy === 'deleted')
    return event('gone', '', 'Deleted at the source', to, now, [
      facts(
        Object.entries(row)
          .filter(([name]) => !name.startsWith('_'))
          .map(([name, value]) => [html`<code>${name}</code>`, valueText(value)]),
      ),
      run,
    ]);
  const earlier = before?.endedBy === 'changed' ? differences(before.row, row) : '';
  return event('edit', '', 'An earlier version, since', from, now, [earlier]);
}

const event = (
  shape: Icon,
  tone: string,
  title: string,
  at: number,
  now: Now,
  body: readonly (Html | string)[],
): Html =>
  html`<li>${icon(shape, tone)}<div class="head"><h3>${title}</h3><span class="soft">${ago(at, now)}</span></div>${body}</li>`;

/** Before struck out, after in bold. */
function differences(before: StoredValues, after: StoredValues): Html {
  return html`<table class="diff"><caption class="sr">What changed</caption><tbody>${changedFields(before, after).map(
    ({ field, before: old, after: fresh }) =>
      html`<tr><th scope="row"><code>${field}</code></th><td><del>${valueText(old) || 'null'}</del></td><td><ins>${valueText(fresh) || 'null'}</ins></td></tr>`,
  )}</tbody></table>`;
}

/** A field `<name>_id` names a record of the list `<name>s`. */
const referredList = (field: string, jobs: ReadonlyMap<string, Job>): string | null => {
  const [, name] = /^(\w+)_id$/.exec(field) ?? [];
  return name !== undefined && jobs.has(`${name}s`) ? `${name}s` : null;
};

function rowList(row: StoredValues, { jobs, source, several }: Linked & { source: string }): Html {
  const shown = (name: string, text: string): Html | string => {
    if (text === '') return html`<span class="soft">null</span>`;
    const list = referredList(name, jobs);
    return list === null
      ? text
      : html`<a href="${recordPath({ resource: list, key: text, source, several })}">${text}</a>`;
  };
  return facts(Object.entries(row).map(([name, value]) => [html`<code>${name}</code>`, shown(name, valueText(value))]));
}

function childTable(field: string, rows: readonly StoredValues[]): Html {
  const columns = [...new Set(rows.flatMap(row => Object.keys(row)))].filter(
    name => name !== 'line' && name !== '_extra',
  );
  if (rows.length === 0) return card(field, html`<p class="soft">None.</p>`);
  return card(
    field,
    table({
      caption: field,
      head: ['line', ...columns],
      right: [],
      rows: rows.map(row => [valueText(row.line), ...columns.map(name => valueText(row[name]))]),
    }),
    String(rows.length),
  );
}

/** The address of a record's page; it names the source where there are several. */
export function recordPath(record: { resource: string; key: string; source: string; several: boolean }): string {
  const { resource, key, source, several } = record;
  const path = `/record/${encodeURIComponent(resource)}/${encodeURIComponent(key)}`;
  return several ? `${path}?source=${encodeURIComponent(source)}` : path;
}
