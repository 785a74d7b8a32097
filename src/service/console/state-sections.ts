import { html } from 'hono/html';
import type { Usage } from '../../budget/ledger/usage.ts';
import { stampMs } from '../../clock.ts';
import type { Incident } from '../../warehouse/ledgers/incidents.ts';
import type { OrderState } from '../../warehouse/ledgers/orders.ts';
import type { RunState } from '../../warehouse/ledgers/runs.ts';
import type { PastRun } from '../../warehouse/reports/run-history.ts';
import { count, durationText, shortDuration } from '../format.ts';
import type { Html } from '../html-document.ts';
import { proofText, resourceBadge } from '../status/condition.ts';
import { INCIDENT_WORDS } from '../status/incident-words.ts';
import type { FullState, ResourceState } from '../status/source-state.ts';
import { meter } from './charts.ts';
import { ago, badge, type Icon, icon, type Now, nextStep, type Shown, table, timeElement } from './elements.ts';

/** One row a resource; on a phone, one block. */
export function resourceList(source: FullState, now: Now): Html {
  const head = ['resource', 'rows', 'newest change', 'a change arrives after', 'measured', 'oldest proof'];
  const holds = source.resources.some(({ held }) => held > 0);
  head.push('missing', 'quarantined', ...(holds ? ['held'] : []), 'state');
  return table({
    caption: 'Resources',
    head,
    right: holds ? [1, 6, 7, 8] : [1, 6, 7],
    stack: { labels: head.with(3, 'arrives after'), faint: [6, 7] },
    rows: source.resources.map(each => {
      const delay = source.delays.find(({ resource }) => resource === each.resource);
      const { expected = null, measuredSeconds = null } = delay ?? {};
      return [
        each.resource,
        count(each.rows),
        changeOf(each, now),
        expected === null
          ? '–'
          : html`${durationText(expected.meanSeconds)}<span class="soft">, 95% within ${durationText(expected.within95Seconds)}</span>`,
        measuredSeconds === null ? '–' : durationText(measuredSeconds),
        proofOf(each, now),
        count(each.missing),
        count(each.quarantined),
        ...(holds ? [html`<a href="/held/${encodeURIComponent(source.name)}">${count(each.held)}</a>`] : []),
        badge(resourceBadge(each, source)),
      ];
    }),
  });
}

/** The same in the columns that matter most. */
export const briefList = (source: FullState, now: Now): Html =>
  table({
    caption: 'Resources',
    head: ['resource', 'oldest proof', 'newest change', 'rows', 'state'],
    right: [3],
    stack: {},
    rows: source.resources.map(each => [
      each.resource,
      proofOf(each, now),
      changeOf(each, now),
      count(each.rows),
      badge(resourceBadge(each, source)),
    ]),
  });

const changeOf = ({ newestChange }: ResourceState, now: Now): Html | string =>
  newestChange === null ? '–' : ago(stampMs(newestChange), now);

const proofOf = (resource: ResourceState, now: Now): Html | string =>
  proofText(resource, stamp => (stamp === null ? '–' : ago(stampMs(stamp), now)));

/** Open incidents, each with its next step. From the second on they are folded, so that a phone shows the sources too. */
export function incidentList(incidents: readonly Incident[], now: Now): Html | string {
  const [first, ...others] = incidents;
  if (first === undefined) return '';
  const rows = (each: readonly Incident[]) =>
    html`<ul class="trouble">${each.map(incident => incidentRow(incident, now))}</ul>`;
  return html`<section aria-label="Open incidents">${rows([first])}
${others.length > 0 ? html`<details><summary>${others.length} more open ${others.length === 1 ? 'incident' : 'incidents'}</summary>${rows(others)}</details>` : ''}</section>`;
}

/** Where people settle an incident. */
const SETTLING: Partial<Record<Incident['kind'], { readonly path: string; readonly text: string }>> = {
  rewrite: { path: 'rewrites', text: 'Compare, accept or undo' },
  restated: { path: 'months', text: 'Compare or accept' },
};

function incidentRow({ source, resource, kind, openedAt, message, next }: Incident, { at, timeZone }: Now): Html {
  const page = SETTLING[kind];
  const where = resource === null ? source : `${resource} of ${source}`;
  const opened = stampMs(openedAt);
  const age = timeElement(opened, timeZone, shortDuration(Math.abs(at - opened)));
  return html`<li>${icon(kind === 'fuse' || page ? 'warn' : 'bad')}<div><h2>${where}: ${INCIDENT_WORDS[kind].title} <span class="soft">· for ${age}</span></h2><p>${message}</p></div>
<div>${next ? html`<p class="soft">What to do:</p>${nextStep(next)}` : ''}${page ? html`<p><a href="/${page.path}/${encodeURIComponent(source)}">${page.text}</a></p>` : ''}</div></li>`;
}

/** Used by lane, what others used, and when a request frees. */
export function usageSection(usage: Usage, now: Now): Html {
  const { limit, used, reserve, withheld, byLane, free, blockedUntil, nextFreeAt, isNew } = usage;
  const granted = byLane.live + byLane.backfill + byLane.verify;
  const leaves = reserve > 0 ? `; ${count(reserve)} more are left to other programs` : '';
  const text = `${count(used)} of ${count(limit)} requests used${leaves}`;
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
  return html`<p>${text}</p>${meter(shares, limit + reserve, text)}<p class="soft">${left}</p>`;
}

/** Runs, one a row; on a phone, one a block. `several`: their source is named. */
export const runHistory = (runs: readonly PastRun[], now: Now, several = false): Html =>
  table({
    caption: 'Runs, newest first',
    head: ['run', 'began', 'took', 'requests', 'rows read', 'changes', 'outcome'],
    right: [2, 3, 4],
    stack: {},
    rows: runs.map(run => [
      html`<a href="/runs/${run.id}">${several ? `${run.source} ` : ''}${run.resource}: ${kindWord(run.kind)}</a>`,
      ago(stampMs(run.startedAt), now),
      run.endedAt === null ? '–' : shortDuration(stampMs(run.endedAt) - stampMs(run.startedAt)),
      count(run.requests),
      count(run.rowsRead),
      changesText(run) || html`<span class="soft">${wasIdle(run) ? 'nothing was due' : 'none'}</span>`,
      outcome(run),
    ]),
  });

/** `3 new, 12 changed, 1 deleted`; empty where nothing changed. */
const changesText = ({ inserted, updated, deleted }: PastRun): string =>
  Object.entries({ new: inserted, changed: updated, deleted })
    .filter(([, rows]) => rows > 0)
    .map(([word, rows]) => `${count(rows)} ${word}`)
    .join(', ');

/** A tick that found everything it reads up to date. */
const wasIdle = ({ kind, state, requests }: PastRun): boolean => kind === 'slot' && state === 'done' && requests === 0;

const KINDS: Readonly<Record<string, string>> = { slot: 'tick', hint: 'webhook' };

/** What a run was for, in one word. */
export const kindWord = (kind: string): string => KINDS[kind] ?? kind;

const ICONS = {
  ...{ running: 'busy', waiting: 'wait', paused: 'off' },
  ...{ done: 'ok', failed: 'bad', cancelled: 'off', stopped: 'off' },
} as const satisfies Record<RunState | OrderState, Icon>;

export const shownState = (state: RunState | OrderState): Shown => ({ icon: ICONS[state], text: state });

/** How a run or an order ended, and why. */
export const outcome = ({ state, reason }: { state: RunState | OrderState; reason: string | null }): Html =>
  html`${badge(shownState(state))}${reason === null ? '' : html`<p class="soft reason">${reason}</p>`}`;
