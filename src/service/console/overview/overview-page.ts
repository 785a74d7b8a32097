import { html } from 'hono/html';
import type { ConsoleParts } from '../console-parts.ts';
import { documentOf } from '../layout/document.ts';
import type { Html } from '../layout/html.ts';
import { ago } from '../parts/age.ts';
import { stateBadge } from '../parts/state.ts';
import { table } from '../parts/table.ts';
import { verdictSection } from '../parts/verdict-section.ts';
import type { SourceFacts } from '../source-facts.ts';
import { incidentList } from './incident-list.ts';
import { sourceCard, type Trend } from './source-card.ts';
import { conditionOf, stateOf } from './source-state.ts';
import { verdictOf } from './verdict.ts';

/** From so many sources on, a table shows more of them at once than cards. */
export const MOST_CARDS = 12;

/** Is something wrong, what to do, how old is each source, how many requests are left? `at` is in epoch milliseconds. */
export function overviewPage(
  sources: readonly SourceFacts[],
  trends: readonly (Trend | null)[],
  at: number,
  { hide }: Pick<ConsoleParts, 'hide'>,
): Html {
  const timeZone = sources[0]?.timeZone ?? 'UTC';
  const verdict = verdictOf(sources, at);
  const incidents = sources.flatMap(each => ('status' in each ? each.status.incidents : []));
  const main = html`${verdictSection(verdict)}
${incidentList(incidents, { at, timeZone }, hide)}
${
  sources.length > MOST_CARDS
    ? sourceTable(sources, at)
    : html`<section class="grid three sources" aria-label="Sources">${sources.map((each, index) => sourceCard(each, trends[index] ?? null, at))}</section>`
}`;
  return documentOf({ title: verdict.text, section: '/', at, timeZone, main });
}

/** Troubles first. */
function sourceTable(sources: readonly SourceFacts[], at: number): Html {
  const order = ['unreadable', 'trouble', 'waiting', 'first sync', 'idle', 'order running', 'up to date'];
  const rank = (facts: SourceFacts) => order.indexOf(conditionOf(facts));
  const rows = [...sources]
    .sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name))
    .map(facts => [
      html`<a href="/sources/${encodeURIComponent(facts.name)}">${facts.name}</a>`,
      stateBadge(stateOf(facts)),
      ...('status' in facts ? figuresOf(facts, at) : ['–', '–', '–']),
    ]);
  const head = ['source', 'state', 'up to date', 'requests used', 'rows'];
  return html`<section class="card">${table({ caption: 'Sources, troubles first', head, right: [3, 4], rows })}</section>`;
}

function figuresOf(facts: Extract<SourceFacts, { status: unknown }>, at: number): (string | Html)[] {
  const { status, upToDateAt, timeZone } = facts;
  return [
    upToDateAt === null ? '–' : ago(upToDateAt, { at, timeZone }),
    status.usage ? `${status.usage.used} of ${status.usage.limit}` : '–',
    status.resources.reduce((sum, { rows }) => sum + rows, 0).toLocaleString('en-US'),
  ];
}
