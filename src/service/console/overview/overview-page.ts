import { html } from 'hono/html';
import type { PastRun } from '../../../warehouse/reports/run-history.ts';
import { count } from '../../format.ts';
import { type Condition, conditionOf, type JudgedSource } from '../../status/condition.ts';
import type { ConsoleParts } from '../console-parts.ts';
import { documentOf } from '../layout/document.ts';
import type { Html } from '../layout/html.ts';
import { ago, type Now } from '../parts/age.ts';
import { stateBadge } from '../parts/state.ts';
import { table } from '../parts/table.ts';
import { verdictSection } from '../parts/verdict-section.ts';
import { runTable } from '../runs/run-table.ts';
import { briefList } from '../source/resource-list.ts';
import type { SourceFacts } from '../source-facts.ts';
import type { FleetSource, ReadableSource } from './fleet.ts';
import { incidentList } from './incident-list.ts';
import type { CardSource } from './read-cards.ts';
import { sourceCard } from './source-card.ts';
import { stateOf } from './source-state.ts';
import { verdictOf } from './verdict.ts';

/** Is something wrong, what to do, how old is each source, how many requests are left? `body`: the sources. `at` is in epoch milliseconds. */
function overviewPage(
  sources: readonly JudgedSource[],
  body: Html,
  { at, timeZone }: Now,
  { hide, isGuarded }: Pick<ConsoleParts, 'hide' | 'isGuarded'>,
): Html {
  const verdict = verdictOf(sources, at);
  const incidents = sources.flatMap(each => ('status' in each ? each.status.incidents : []));
  const main = html`${verdictSection(verdict)}
${incidentList(incidents, { at, timeZone }, hide)}
${body}${isGuarded ? html`<p><a href="/login">Log out</a></p>` : ''}`;
  return documentOf({ title: verdict.text, section: '/', at, timeZone, main });
}

/** The one source, if there is no other, with its latest runs: they find room beside its card. */
export interface OnlySource {
  readonly facts: SourceFacts;
  readonly runs: readonly PastRun[];
}

/** A card for each source. */
export function cardsPage(
  sources: readonly CardSource[],
  only: OnlySource | null,
  at: number,
  parts: Pick<ConsoleParts, 'hide' | 'isGuarded'>,
): Html {
  const top = Math.max(0, ...sources.flatMap(({ detail }) => (detail?.ages ?? []).flatMap(age => age ?? [])));
  const cards = sources.map(each => sourceCard(each, top, at));
  const beside = only === null ? null : besideCard(only, at, parts.hide);
  const all = html`<section class="grid ${beside ? '' : 'three '}sources" aria-label="Sources">${cards}</section>`;
  const body = beside ? html`<div class="grid alone">${all}${beside}</div>` : all;
  return overviewPage(sources, body, { at, timeZone: sources[0]?.timeZone ?? 'UTC' }, parts);
}

function besideCard({ facts, runs }: OnlySource, at: number, hide: ConsoleParts['hide']): Html | null {
  if (!('status' in facts)) return null;
  const now = { at, timeZone: facts.timeZone };
  return html`<div class="grid">
<section class="card"><div class="head"><h2>Resources</h2><a href="/sources/${encodeURIComponent(facts.name)}">Months, changes, requests</a></div>${briefList(facts, now)}</section>
${runs.length === 0 ? '' : html`<section class="card"><div class="head"><h2>Latest runs</h2><a href="/runs">All runs</a></div>${runTable(runs, now, { several: false, hide })}</section>`}</div>`;
}

const ORDER: readonly Condition[] = [
  'unreadable',
  'trouble',
  'waiting',
  'first sync',
  'idle',
  'order running',
  'up to date',
];

/** A table, which shows more sources at once than cards; troubles first. */
export function fleetPage(
  sources: readonly FleetSource[],
  at: number,
  parts: Pick<ConsoleParts, 'hide' | 'isGuarded'>,
): Html {
  const rank = (source: FleetSource) => ORDER.indexOf(conditionOf(source));
  const rows = [...sources]
    .sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name, 'en', { numeric: true }))
    .map(source => [
      html`<a href="/sources/${encodeURIComponent(source.name)}">${source.name}</a>`,
      stateBadge(stateOf(source)),
      ...('status' in source ? figuresOf(source, { at, timeZone: source.timeZone }) : ['–', '–', '–']),
    ]);
  const head = ['source', 'state', 'up to date', 'requests, last hour', 'rows'];
  const body = html`<section class="card">${table({ caption: 'Sources, troubles first', head, right: [3, 4], rows })}</section>`;
  return overviewPage(sources, body, { at, timeZone: sources[0]?.timeZone ?? 'UTC' }, parts);
}

const figuresOf = ({ status, upToDateAt, rows }: ReadableSource, now: Now): (string | Html)[] => [
  upToDateAt === null ? '–' : ago(upToDateAt, now),
  count(status.requests),
  count(rows),
];
