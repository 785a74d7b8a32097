import { html } from 'hono/html';
import { stampMs } from '../../../clock.ts';
import type { RunState } from '../../../warehouse/ledgers/runs.ts';
import type { PastRun } from '../../../warehouse/reports/run-history.ts';
import { count, shortDuration } from '../../format.ts';
import type { Badge } from '../../status/condition.ts';
import { ago, badge, type Html, type Now } from '../elements.ts';

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
<td class="last">${badge(RUN_BADGES[state])}${reason === null ? '' : html`<p class="soft reason">${hide(reason)}</p>`}</td></tr>`;
  });
  return html`<table class="stack"><caption class="sr">Runs, newest first</caption>
<thead><tr><th scope="col">run</th><th scope="col">began</th><th scope="col" class="num">took</th><th scope="col" class="num">requests</th><th scope="col" class="num">rows read</th><th scope="col">changes</th><th scope="col" class="last">outcome</th></tr></thead>
<tbody>${rows}</tbody></table>`;
}

const KINDS: Readonly<Record<string, string>> = { slot: 'tick', hint: 'webhook' };

/** What a run was for, in one word. */
export const kindWord = (kind: string): string => KINDS[kind] ?? kind;

export const RUN_BADGES: Readonly<Record<RunState, Badge>> = {
  running: { icon: 'busy', tone: 'busy', text: 'running' },
  waiting: { icon: 'wait', tone: '', text: 'waiting' },
  done: { icon: 'ok', tone: 'good', text: 'done' },
  failed: { icon: 'bad', tone: 'bad', text: 'failed' },
  stopped: { icon: 'off', tone: '', text: 'stopped' },
};

/** `3 new, 12 changed, 1 deleted`; empty where nothing changed. */
const changesText = ({ inserted, updated, deleted }: PastRun): string =>
  Object.entries({ new: inserted, changed: updated, deleted })
    .filter(([, rows]) => rows > 0)
    .map(([word, rows]) => `${count(rows)} ${word}`)
    .join(', ');
