import { html, raw } from 'hono/html';
import { TITLES } from '../incidents/alerts.ts';
import type { SourceState, UnreadSource } from '../source-state.ts';
import { budgetLine, count, moment, provenText } from '../words.ts';

type Html = ReturnType<typeof html>;

/** Inline, because nothing may be loaded; its hash is in the page's policy, so it must be written out as it is. */
export const STYLE = `
:root { color-scheme: light dark; --line: #8884; --dim: #555; --bad: #b00020; --good: #1b6e2e; }
@media (prefers-color-scheme: dark) { :root { --dim: #aaa; --bad: #ff8a80; --good: #7bd88f; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.2rem; margin: 2rem 0 .25rem; } h3 { font-size: 1rem; margin: 1.25rem 0 .25rem; }
p { margin: .25rem 0; } .dim { color: var(--dim); } .good { color: var(--good); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; min-width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); white-space: nowrap; vertical-align: top; }
th { font-weight: normal; color: var(--dim); } .number { text-align: right; }
.trouble { border-left: .25rem solid var(--bad); padding: .25rem 0 .25rem .75rem; margin: .75rem 0; overflow-wrap: anywhere; }
.trouble strong { color: var(--bad); }
meter, progress { width: 100%; max-width: 30rem; height: 1rem; }
`;

/** The whole page: what `sluice status` tells, of every source, and what is wrong. All values are escaped. */
export function statusPage(states: readonly (SourceState | UnreadSource)[], at: number): Html {
  const zone = states[0]?.source.timeZone ?? 'UTC';
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="60">
<title>Sluice</title>
<style>${raw(STYLE)}</style>
</head>
<body>
<h1>Sluice</h1>
<p class="dim">As of ${moment(at, zone)} ${zone}; reloaded every minute.</p>
${states.map(state => ('reason' in state ? unreadSection(state) : sourceSection(state)))}
</body>
</html>`;
}

function unreadSection({ source, reason }: UnreadSource): Html {
  return html`
<section>
<h2>${source.name}</h2>
<div class="trouble"><strong>The state of this source cannot be read.</strong>
<p>${reason}</p></div>
</section>`;
}

function sourceSection(state: SourceState): Html {
  const { source, incidents, failures } = state;
  const at = (value: number | string | null) => moment(value, source.timeZone);
  return html`
<section>
<h2>${source.name}</h2>
<p class="dim">Times are in ${source.timeZone}.</p>
${incidents.length === 0 ? html`<p class="good">Nothing is wrong.</p>` : ''}
${incidents.map(
  incident => html`<div class="trouble"><strong>${incident.resource ?? incident.source}: ${TITLES[incident.kind]}</strong> since ${at(incident.openedAt)}
<p>${incident.message}</p>${nextStep(incident.next)}</div>`,
)}
${requestsSection(state, at)}
<h3>Resources</h3>
${table(
  ['resource', 'rows', 'newest change', 'oldest proof', 'in a day', 'missing', 'quarantined'],
  [1, 4, 5, 6],
  state.resources.map(each => [
    each.resource,
    count(each.rows),
    at(each.newestChange),
    provenText(each, at),
    each.slices === 0 ? '' : `${Math.floor((100 * each.provenInADay) / each.slices)}%`,
    count(each.missing),
    count(each.quarantined),
  ]),
)}
${
  state.underWay.length === 0
    ? ''
    : html`<h3>Under way</h3>${table(
        ['run', 'kind', 'state', 'rows', 'requests', 'since'],
        [3, 4],
        state.underWay.map(run => [
          run.resource,
          run.kind,
          run.state === 'waiting' ? `waiting for the request limit until ${at(run.waitingUntil)}` : 'running',
          count(run.rowsRead),
          count(run.requests),
          at(run.startedAt),
        ]),
      )}`
}
${
  state.orders.length === 0
    ? ''
    : html`<h3>Orders</h3>${table(
        ['order', 'kind', 'resource', 'state', 'slices proven', '', 'given'],
        [],
        state.orders.map(order => [
          order.id,
          order.kind,
          order.resource,
          order.state,
          `${count(order.proven)} of ${count(order.slices)}`,
          html`<progress value="${order.proven}" max="${Math.max(order.slices, 1)}"></progress>`,
          at(order.createdAt),
        ]),
      )}`
}
${
  failures.length === 0
    ? ''
    : html`<h3>Last failures</h3>${failures.map(
        run => html`<div class="trouble"><strong>${run.resource}</strong>, ${run.kind}, ${at(run.endedAt)}
<p>${run.reason ?? ''}</p>${nextStep(run.next)}</div>`,
      )}`
}
</section>`;
}

const nextStep = (next: string | null): Html | string => (next ? html`<p class="dim">Next: ${next}</p>` : '');

function requestsSection({ usage, spending }: SourceState, at: (value: string | null) => string): Html {
  return html`<h3>Requests</h3>
<meter min="0" max="${usage.limit}" value="${Math.min(usage.used + usage.withheld, usage.limit)}"></meter>
<p>${budgetLine(usage, at)}</p>
${
  spending.length === 0
    ? ''
    : table(
        ['in the last hour for', '', 'requests'],
        [2],
        spending.map(each => [each.kind, each.resource, count(each.requests)]),
      )
}`;
}

function table(
  head: readonly string[],
  numbers: readonly number[],
  rows: readonly (readonly (string | Html)[])[],
): Html {
  const side = (column: number) => (numbers.includes(column) ? 'number' : 'text');
  return html`<div class="scroll"><table>
<tr>${head.map((cell, column) => html`<th class="${side(column)}">${cell}</th>`)}</tr>
${rows.map(row => html`<tr>${row.map((cell, column) => html`<td class="${side(column)}">${cell}</td>`)}</tr>`)}
</table></div>`;
}
