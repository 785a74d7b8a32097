import { html } from 'hono/html';
import { stampMs } from '../../../warehouse/database/stamp.ts';
import type { PastRun } from '../../../warehouse/reports/run-history.ts';
import { count, shortDuration } from '../../format.ts';
import type { Html } from '../layout/html.ts';
import { badge } from '../layout/icons.ts';
import { ago, type Now } from '../parts/age.ts';
import { changesText, kindWord, runState } from './run-words.ts';

/** Runs, one a row; on a phone, one a block. `several`: their source is named. */
export function runTable(
  runs: readonly PastRun[],
  now: Now,
  { several, hide }: { several: boolean; hide: (text: string) => string },
): Html {
  const rows = runs.map(run => {
    const { id, source, resource, kind, state, reason, startedAt, endedAt, rowsRead, requests } = run;
    const took = endedAt === null ? '' : shortDuration(stampMs(endedAt) - stampMs(startedAt));
    return html`<tr><th scope="row"><a href="/runs/${id}">${several ? `${source} ` : ''}${resource}: ${kindWord(kind)}</a></th>
<td data-l="began">${ago(stampMs(startedAt), now)}</td>
<td class="num" data-l="took">${took === '' ? '–' : took}</td>
<td class="num" data-l="requests">${count(requests)}</td>
<td class="num" data-l="rows read">${count(rowsRead)}</td>
<td data-l="changes">${changesText(run) || html`<span class="soft">none</span>`}</td>
<td class="last">${badge(runState(state))}${reason === null ? '' : html`<p class="soft reason">${hide(reason)}</p>`}</td></tr>`;
  });
  return html`<table class="stack"><caption class="sr">Runs, newest first</caption>
<thead><tr><th scope="col">run</th><th scope="col">began</th><th scope="col" class="num">took</th><th scope="col" class="num">requests</th><th scope="col" class="num">rows read</th><th scope="col">changes</th><th scope="col" class="last">outcome</th></tr></thead>
<tbody>${rows}</tbody></table>`;
}
