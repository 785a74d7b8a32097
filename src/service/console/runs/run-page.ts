import { html } from 'hono/html';
import { stampMs } from '../../../warehouse/database/stamp.ts';
import type { PastRun, SentRequest } from '../../../warehouse/reports/run-history.ts';
import { count, moment, plural, shortDuration } from '../../format.ts';
import { documentOf } from '../document.ts';
import { ago, card, type Html, icon, type Now, nextStep, table } from '../elements.ts';
import { kindWord, runState } from './run-table.ts';

/** What one run did, request by request as long as they are kept. */
export function runPage(
  run: PastRun,
  requests: readonly SentRequest[],
  now: Now,
  hide: (text: string) => string,
): Html {
  const { id, source, resource, kind, state, reason, next, startedAt, endedAt, orderId, slotAt } = run;
  const shown = runState(state);
  const at = (stamp: string) =>
    html`${moment(stamp, now.timeZone)} <span class="soft">${ago(stampMs(stamp), now)}</span>`;
  const facts: [string, Html | string][] = [
    ['Source', html`<a href="/sources/${encodeURIComponent(source)}">${source}</a>`],
    ['Began', at(startedAt)],
    ['Ended', endedAt === null ? 'not yet' : at(endedAt)],
    ...(endedAt === null ? [] : [['Took', shortDuration(stampMs(endedAt) - stampMs(startedAt))] as [string, string]]),
    ...(slotAt === null ? [] : [['For the tick of', moment(slotAt, now.timeZone)] as [string, string]]),
    ...(orderId === null ? [] : [['For', html`<a href="/orders/${orderId}">order ${orderId}</a>`] as [string, Html]]),
  ];
  const counts: [string, number][] = [
    ['requests', run.requests],
    ['slices made equal', run.slices],
    ['rows read', run.rowsRead],
    ['new', run.inserted],
    ['changed', run.updated],
    ['unchanged', run.unchanged],
    ['came back', run.revived],
    ['went missing', run.missing],
    ['deleted', run.deleted],
    ['quarantined', run.quarantined],
  ];
  const main = html`<p class="crumb"><a href="/runs">Runs</a> / ${id}</p>
<section class="verdict" aria-label="Outcome">${icon(shown.icon, shown.tone)}<div><h1>${resource}: ${kindWord(kind)}, ${shown.text}</h1>${reason === null ? '' : html`<p>${hide(reason)}</p>`}${next === null ? '' : html`<div class="soft">${nextStep(hide(next))}</div>`}</div></section>
<div class="grid two">${card('Run', html`<dl class="kv">${facts.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`)}
${card('What it did', html`<dl class="kv end">${counts.map(([name, value]) => html`<dt>${name}</dt><dd>${count(value)}</dd>`)}</dl>`)}</div>
${card(
  'Its requests',
  requests.length === 0
    ? html`<p class="soft">None are listed: single requests are kept for a day.</p>`
    : table({
        caption: 'Requests of this run, newest first',
        head: ['request', 'granted', 'for', 'lane', 'status'],
        right: [4],
        rows: requests.map(each => [
          each.id,
          moment(each.grantedAt, now.timeZone),
          each.purpose ?? '–',
          each.lane,
          each.status === null ? '–' : String(each.status),
        ]),
      }),
  requests.length < run.requests ? `${count(requests.length)} of ${plural(run.requests, 'request')}` : '',
)}`;
  return documentOf({ title: `Run ${id}`, section: '/runs', ...now, main });
}
