import { html } from 'hono/html';
import { count, moment } from '../../format.ts';
import type { SourceStatus } from '../../status/source-status.ts';
import { runTable, type StatusTable } from '../../status/status-tables.ts';
import type { ConsoleParts } from '../console-parts.ts';
import { documentOf } from '../layout/document.ts';
import type { Html } from '../layout/html.ts';
import { icon } from '../layout/icons.ts';
import { incidentList } from '../overview/incident-list.ts';
import { usageSection } from '../overview/source-card.ts';
import { verdictOf } from '../overview/verdict.ts';
import { ago, type Now } from '../parts/age.ts';
import { meter } from '../parts/meter.ts';
import { table } from '../parts/table.ts';
import type { SourceFacts } from '../source-facts.ts';
import { resourceList } from './resource-list.ts';

/** Which resource lags, where do the requests go, what failed? `at` is in epoch milliseconds. */
export function sourcePage(facts: SourceFacts, at: number, { hide }: Pick<ConsoleParts, 'hide'>): Html {
  const { name, timeZone } = facts;
  const { icon: shape, tone, text, rest } = verdictOf([facts], at);
  const main = html`<p class="crumb"><a href="/">Overview</a> / ${name}</p>
<section class="verdict" aria-label="Verdict" aria-live="polite">${icon(shape, tone)}<div><h1>${text}</h1>${rest === '' ? '' : html`<p class="soft">${rest}</p>`}</div></section>
${'unreadable' in facts ? html`<p>${facts.unreadable}</p>` : sections(facts.status, { at, timeZone }, hide)}`;
  return documentOf({ title: name, section: '/', at, timeZone, main });
}

const sections = (status: SourceStatus, now: Now, hide: (text: string) => string): Html => html`
${incidentList(status.incidents, now, hide)}
${card('Resources', [resourceList(status, now), html`<p class="soft after">Missing: the source no longer shows them; they are kept until their deletion is proven. Oldest proof: the part that was read in full and made equal longest ago.</p>`])}
<div class="grid two">
${status.usage ? card('Requests of the last hour', [usageSection(status.usage, now), spendingTable(status)]) : ''}
${card('Runs in progress', status.runs.length > 0 ? drawn('Runs in progress', runTable(status, now.timeZone)) : html`<p class="soft">None.</p>`)}
</div>
${card('Orders', orderSection(status, now))}
${card('Failures of the last week', failureSection(status, now, hide))}`;

const card = (title: string, body: Html | string | readonly (Html | string)[]): Html =>
  html`<section class="card"><div class="head"><h2>${title}</h2></div>${body}</section>`;

const drawn = (caption: string, { head, right, rows }: StatusTable): Html => table({ caption, head, right, rows });

function spendingTable({ lastHour }: SourceStatus): Html | string {
  if (lastHour.length === 0) return '';
  const rows = lastHour.map(each => [each.kind, each.resource, count(each.requests)]);
  return table({ caption: 'Requests by purpose', head: ['for', 'resource', 'requests'], right: [2], rows });
}

function orderSection({ orders }: SourceStatus, now: Now): Html | Html[] {
  if (orders.length === 0) return html`<p class="soft">None under way.</p>`;
  return orders.map(({ id, kind, resource, state, progress: { proven, slices }, createdAt }) => {
    const text = `${count(proven)} of ${count(slices)} slices proven`;
    return html`<p>Order ${id}: ${kind} of ${resource}, ${state}, created ${ago(createdAt, now)}</p>${meter([{ name: 'proven', colour: 'q5', value: proven }], slices, text)}<p class="soft">${text}</p>`;
  });
}

function failureSection({ recentFailures }: SourceStatus, now: Now, hide: (text: string) => string): Html {
  if (recentFailures.length === 0) return html`<p class="soft">None.</p>`;
  return html`<ul class="story">${recentFailures.map(
    run => html`<li>${icon('bad', 'bad')}<p><b>${run.resource}</b>, ${run.kind}, ${moment(run.endedAt, now.timeZone)}</p>
<p>${hide(run.reason ?? '')}</p>${run.next ? html`<p class="soft">Next: ${hide(run.next)}</p>` : ''}</li>`,
  )}</ul>`;
}
