import { html } from 'hono/html';
import { stampMs } from '../../../warehouse/database/stamp.ts';
import { count, durationText } from '../../format.ts';
import { type Badge, proofText, resourceBadge } from '../../status/condition.ts';
import type { ResourceDelay } from '../../status/resource-delays.ts';
import type { FullState, ResourceState } from '../../status/source-state.ts';
import { ago, badge, type Html, type Now } from '../elements.ts';

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
