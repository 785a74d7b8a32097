import { html } from 'hono/html';
import type { Usage } from '../../budget/ledger/usage.ts';
import { stampMs } from '../../clock.ts';
import type { Incident } from '../../warehouse/ledgers/incidents.ts';
import { count, durationText } from '../format.ts';
import { type Badge, INCIDENT_TITLES, proofText, resourceBadge } from '../status/condition.ts';
import type { ResourceDelay } from '../status/resource-delays.ts';
import type { FullState, ResourceState } from '../status/source-state.ts';
import { meter } from './charts.ts';
import { age, ago, badge, type Html, icon, type Now, nextStep } from './elements.ts';

/** One row a resource; on a phone, one block. */
export function resourceList(source: FullState, now: Now): Html {
  const delayOf = new Map(source.delays.map(each => [each.resource, each]));
  const rows = source.resources.map(each =>
    resourceRow(each, delayOf.get(each.resource), resourceBadge(each, source), now),
  );
  return html`<table class="stack"><caption class="sr">Resources</caption>
<thead><tr><th scope="col">resource</th><th scope="col" class="num">rows</th><th scope="col">newest change</th><th scope="col">a change arrives after</th><th scope="col">measured</th><th scope="col">oldest proof</th><th scope="col" class="num">missing</th><th scope="col" class="num">quarantined</th><th scope="col" class="last">state</th></tr></thead>
<tbody>${rows}</tbody></table>`;
}

/** The same in the columns that matter most. */
export function briefList(source: FullState, now: Now): Html {
  const rows = source.resources.map(
    each => html`<tr><th scope="row">${each.resource}</th>
<td data-l="oldest proof">${proofOf(each, now)}</td>
${changeCell(each, now)}
<td class="num" data-l="rows">${count(each.rows)}</td>
<td class="last">${badge(resourceBadge(each, source))}</td></tr>`,
  );
  return html`<table class="stack"><caption class="sr">Resources</caption>
<thead><tr><th scope="col">resource</th><th scope="col">oldest proof</th><th scope="col">newest change</th><th scope="col" class="num">rows</th><th scope="col" class="last">state</th></tr></thead>
<tbody>${rows}</tbody></table>`;
}

const changeCell = ({ newestChange }: ResourceState, now: Now): Html =>
  html`<td data-l="newest change">${newestChange === null ? '–' : ago(stampMs(newestChange), now)}</td>`;

function resourceRow(row: ResourceState, delay: ResourceDelay | undefined, state: Badge, now: Now): Html {
  const { resource, rows, missing, quarantined } = row;
  const expected = delay?.expected ?? null;
  const measured = delay?.measuredSeconds ?? null;
  return html`<tr><th scope="row">${resource}</th>
<td class="num" data-l="rows">${count(rows)}</td>
${changeCell(row, now)}
<td data-l="arrives after">${expected === null ? '–' : html`${durationText(expected.meanSeconds)}<span class="soft">, 95% within ${durationText(expected.within95Seconds)}</span>`}</td>
<td data-l="measured">${measured === null ? '–' : durationText(measured)}</td>
<td data-l="oldest proof">${proofOf(row, now)}</td>
<td class="num${missing === 0 ? ' nil' : ''}" data-l="missing">${count(missing)}</td>
<td class="num${quarantined === 0 ? ' nil' : ''}" data-l="quarantined">${count(quarantined)}</td>
<td class="last">${badge(state)}</td></tr>`;
}

const proofOf = (resource: ResourceState, now: Now): Html | string =>
  proofText(resource, stamp => (stamp === null ? '–' : ago(stampMs(stamp), now)));

/** Open incidents, each with its next step. From the second on they are folded, so that a phone shows the sources too. */
export function incidentList(incidents: readonly Incident[], now: Now, hide: (text: string) => string): Html | string {
  const [first, ...others] = incidents;
  if (first === undefined) return '';
  const rows = (each: readonly Incident[]) =>
    html`<ul class="trouble">${each.map(incident => incidentRow(incident, now, hide))}</ul>`;
  return html`<section aria-label="Open incidents">${rows([first])}
${others.length > 0 ? html`<details><summary>${others.length} more open ${others.length === 1 ? 'incident' : 'incidents'}</summary>${rows(others)}</details>` : ''}</section>`;
}

function incidentRow(
  { source, resource, kind, openedAt, message, next }: Incident,
  now: Now,
  hide: (text: string) => string,
): Html {
  const where = resource === null ? source : `${resource} of ${source}`;
  return html`<li>${icon(kind === 'fuse' ? 'warn' : 'bad', kind === 'fuse' ? 'warn' : 'bad')}<div><h2>${where}: ${INCIDENT_TITLES[kind]} <span class="soft">· for ${age(stampMs(openedAt), now)}</span></h2><p>${hide(message)}</p></div>
<div>${next ? html`<p class="soft">What to do:</p>${nextStep(hide(next))}` : ''}</div></li>`;
}

/** Used by lane, what others used, and when a request frees. */
export function usageSection(usage: Usage, now: Now): Html {
  const { limit, used, withheld, byLane, free, blockedUntil, nextFreeAt, isNew } = usage;
  const granted = byLane.live + byLane.backfill + byLane.verify;
  const text = `${count(used)} of ${count(limit)} requests used`;
  const shares = [
    { name: 'live', colour: 'q1', value: byLane.live },
    { name: 'backfill', colour: 'q5', value: byLane.backfill },
    { name: 'verify', colour: 'q6', value: byLane.verify },
    { name: 'still counted', colour: 'q3', value: Math.max(used - granted, 0) },
    { name: isNew ? 'sent before' : 'other programs', colour: 'q4', value: withheld },
  ];
  const left =
    blockedUntil !== null
      ? html`The source asks to wait; it is asked again ${ago(stampMs(blockedUntil), now)}.`
      : free === 0 && nextFreeAt !== null
        ? html`All used. The next is free ${ago(stampMs(nextFreeAt), now)}.`
        : html`${count(free)} left.`;
  return html`<p>${text}</p>${meter(shares, limit, text)}<p class="soft">${left}</p>`;
}
