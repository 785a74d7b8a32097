import { html, raw } from 'hono/html';
import { budgetLine, count, moment } from '../format.ts';
import { INCIDENT_TITLES } from '../incidents/incident-titles.ts';
import type { ServedSource } from '../status/served-source.ts';
import type { SourceStatus } from '../status/source-status.ts';
import { delayTable, minute, resourceTable, runTable } from '../status/status-tables.ts';
import { PAGE_STYLE } from './page-style.ts';

type Html = ReturnType<typeof html>;
type Source = Pick<ServedSource, 'name' | 'timeZone'>;

/** One source on the page; `status` is a reason where it could not be read, for example because the schema is gone. */
export interface PageSource {
  readonly source: Source;
  readonly status: SourceStatus | { readonly unreadable: string };
}

/** The whole page. `at` is in epoch milliseconds. All values are escaped; `hide` removes secrets from what a source said. */
export function statusPage(sources: readonly PageSource[], at: number, hide: (text: string) => string): Html {
  const zone = sources[0]?.source.timeZone ?? 'UTC';
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="60">
<title>Sluice</title>
<style>${raw(PAGE_STYLE)}</style>
</head>
<body>
<h1>Sluice</h1>
<p class="dim">As of ${moment(at, zone)} ${zone}. Reloads every minute.</p>
${sources.map(({ source, status }) =>
  'unreadable' in status ? unreadableSection(source, status.unreadable) : sourceSection(source, status, hide),
)}
</body>
</html>`;
}

function unreadableSection(source: Source, reason: string): Html {
  return html`
<section>
<h2>${source.name}</h2>
<div class="trouble"><strong>The state of this source cannot be read.</strong>
<p>${reason}</p></div>
</section>`;
}

function sourceSection({ name, timeZone }: Source, status: SourceStatus, hide: (text: string) => string): Html {
  return html`
<section>
<h2>${name}</h2>
<p class="dim">Times are in ${timeZone}.</p>
${incidentSection(status, timeZone)}
${requestSection(status, timeZone)}
<h3>Resources</h3>
${table(resourceTable(status, timeZone))}
${delaySection(status)}
${status.runs.length > 0 ? html`<h3>Runs in progress</h3>${table(runTable(status, timeZone))}` : ''}
${orderSection(status, timeZone)}
${failureSection(status, timeZone, hide)}
</section>`;
}

function incidentSection({ incidents }: SourceStatus, timeZone: string): Html {
  if (incidents.length === 0) return html`<p class="good">No open incidents.</p>`;
  return html`${incidents.map(
    ({ source, resource, kind, openedAt, message, next }) =>
      html`<div class="trouble"><strong>${resource ?? source}: ${INCIDENT_TITLES[kind]}</strong> since ${moment(openedAt, timeZone)}
<p>${message}</p>${nextStep(next)}</div>`,
  )}`;
}

function requestSection({ usage, lastHour }: SourceStatus, timeZone: string): Html | string {
  if (!usage) return '';
  const rows = lastHour.map(each => [each.kind, each.resource, count(each.requests)]);
  return html`<h3>Requests</h3>
<meter min="0" max="${usage.limit}" value="${Math.min(usage.used + usage.withheld, usage.limit)}"></meter>
<p>${budgetLine(usage, at => moment(at, timeZone))}</p>
${rows.length > 0 ? table({ head: ['in the last hour', 'resource', 'requests'], right: [2], rows }) : ''}`;
}

function delaySection(status: SourceStatus): Html | string {
  const delays = delayTable(status);
  return delays ? html`<h3>Freshness</h3>${table(delays)}` : '';
}

function orderSection({ orders }: SourceStatus, timeZone: string): Html | string {
  if (orders.length === 0) return '';
  const head = ['order', 'kind', 'resource', 'state', 'slices proven', '', 'created'];
  const rows = orders.map(({ id, kind, resource, state, progress: { proven, slices }, createdAt }) => [
    ...[id, kind, resource, state, `${count(proven)} of ${count(slices)}`],
    html`<progress value="${proven}" max="${Math.max(slices, 1)}"></progress>`,
    minute(createdAt, timeZone),
  ]);
  return html`<h3>Orders</h3>${table({ head, right: [], rows })}`;
}

function failureSection(
  { recentFailures }: SourceStatus,
  timeZone: string,
  hide: (text: string) => string,
): Html | string {
  if (recentFailures.length === 0) return '';
  return html`<h3>Failures of the last week</h3>${recentFailures.map(
    run => html`<div class="trouble"><strong>${run.resource}</strong>, ${run.kind}, ${moment(run.endedAt, timeZone)}
<p>${hide(run.reason ?? '')}</p>${nextStep(run.next && hide(run.next))}</div>`,
  )}`;
}

const nextStep = (next: string | null): Html | string => (next ? html`<p class="dim">Next: ${next}</p>` : '');

interface Table {
  readonly head: readonly string[];
  /** Columns aligned right. */
  readonly right: readonly number[];
  readonly rows: readonly (readonly (string | Html)[])[];
}

function table({ head, right, rows }: Table): Html {
  const side = (column: number) => (right.includes(column) ? 'number' : 'text');
  return html`<div class="scroll"><table>
<tr>${head.map((cell, column) => html`<th class="${side(column)}">${cell}</th>`)}</tr>
${rows.map(row => html`<tr>${row.map((cell, column) => html`<td class="${side(column)}">${cell}</td>`)}</tr>`)}
</table></div>`;
}
