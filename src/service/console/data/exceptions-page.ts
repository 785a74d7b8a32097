import { html } from 'hono/html';
import { stampMs } from '../../../warehouse/database/stamp.ts';
import type { QuarantinedRecord } from '../../../warehouse/rows/quarantine.ts';
import { count, plural } from '../../format.ts';
import { wordsOfSlice } from '../../status/slice-words.ts';
import { documentOf } from '../document.ts';
import { ago, card, type Html, type Now } from '../elements.ts';
import { recordPath } from '../record/record-page.ts';

interface Shown {
  readonly source: string;
  readonly several: boolean;
  readonly hide: (text: string) => string;
}

/** Records that could not be stored, each with the reason and as it came. */
export function quarantinePage(
  records: readonly QuarantinedRecord[],
  { source, several, hide }: Shown,
  now: Now,
): Html {
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

export interface ShownMissing {
  readonly resource: string;
  readonly key: string;
  readonly slice: string;
  readonly since: number;
  readonly why: string;
}

/** Rows that the source no longer shows, and why each is not deleted yet. */
export function missingPage(rows: readonly ShownMissing[], { source, several }: Shown, now: Now): Html {
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
