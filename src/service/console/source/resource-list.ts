import { html } from 'hono/html';
import { stampMs } from '../../../warehouse/database/stamp.ts';
import type { ResourceState } from '../../../warehouse/reports/report.ts';
import { count, durationText, plural } from '../../format.ts';
import type { ResourceDelay } from '../../status/resource-delays.ts';
import type { Html } from '../layout/html.ts';
import { ago, type Now } from '../parts/age.ts';
import { type State, stateBadge } from '../parts/state.ts';
import type { KnownSource } from '../source-facts.ts';
import { resourceWords } from './resource-words.ts';

/** One row a resource; on a phone, one block. */
export function resourceList({ status, ticks }: KnownSource, now: Now): Html {
  const delayOf = new Map(status.delays.map(each => [each.resource, each]));
  const tickOf = new Map(ticks.map(({ resource, at }) => [resource, at]));
  const rows = status.resources.map(each => {
    const tick = tickOf.get(each.resource);
    const schedule = { isScheduled: tick !== undefined, servedAt: tick ?? null, timeZone: now.timeZone };
    return resourceRow(each, delayOf.get(each.resource), resourceWords(each, status, schedule), now);
  });
  return html`<table class="stack"><caption class="sr">Resources</caption>
<thead><tr><th scope="col">resource</th><th scope="col" class="num">rows</th><th scope="col">newest change</th><th scope="col">a change arrives after</th><th scope="col">measured</th><th scope="col">oldest proof</th><th scope="col" class="num">missing</th><th scope="col" class="num">quarantined</th><th scope="col" class="last">state</th></tr></thead>
<tbody>${rows}</tbody></table>`;
}

function resourceRow(row: ResourceState, delay: ResourceDelay | undefined, state: State, now: Now): Html {
  const { resource, rows, newestChange, missing, quarantined } = row;
  const expected = delay?.expected ?? null;
  const measured = delay?.measuredSeconds ?? null;
  return html`<tr><th scope="row">${resource}</th>
<td class="num" data-l="rows">${count(rows)}</td>
<td data-l="newest change">${newestChange === null ? '–' : ago(stampMs(newestChange), now)}</td>
<td data-l="arrives after">${expected === null ? '–' : html`${durationText(expected.meanSeconds)}<span class="soft">, 95% within ${durationText(expected.within95Seconds)}</span>`}</td>
<td data-l="measured">${measured === null ? '–' : durationText(measured)}</td>
<td data-l="oldest proof">${proofOf(row, now)}</td>
<td class="num${missing === 0 ? ' nil' : ''}" data-l="missing">${count(missing)}</td>
<td class="num${quarantined === 0 ? ' nil' : ''}" data-l="quarantined">${count(quarantined)}</td>
<td class="last">${stateBadge(state)}</td></tr>`;
}

function proofOf({ absent, neverRead, oldestProof }: ResourceState, now: Now): Html | string {
  if (absent) return 'not offered';
  if (neverRead > 0) return `${plural(neverRead, 'part')} unread`;
  return oldestProof === null ? '–' : ago(stampMs(oldestProof), now);
}
