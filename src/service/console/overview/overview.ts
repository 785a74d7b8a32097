import { Hono } from 'hono';
import { html } from 'hono/html';
import { databaseNow } from '../../../warehouse/database/now.ts';
import { listRuns } from '../../../warehouse/reports/run-history.ts';
import { count } from '../../format.ts';
import { badgeOf, CONDITIONS, conditionOf, verdictOf } from '../../status/condition.ts';
import { type SourceState, sumOf } from '../../status/source-state.ts';
import { type ConsoleParts, readSource, readSources } from '../console-parts.ts';
import { ago, badge, documentOf, type Html, type Now, table, verdictSection } from '../elements.ts';
import { runTable } from '../runs/run-table.ts';
import { briefList, incidentList } from '../state-sections.ts';
import { type Card, createCards, sourceCard } from './cards.ts';

/** From so many sources on, a table shows more of them at once than cards. */
const MOST_CARDS = 12;
const LATEST_RUNS = 5;

/** Concurrent requests share one rendering, so that many open pages cost no more than one. */
export function overviewRoutes(parts: ConsoleParts): Hono {
  const { database, sources } = parts;
  const readCards = createCards(parts);
  const render = async () => {
    const at = await databaseNow(database);
    const states = await readSources(parts);
    if (sources.length > MOST_CARDS) return String(await fleetPage(states, at, parts));
    return String(await cardsPage(await readCards(states, at), at, parts));
  };
  let rendering: Promise<string> | undefined;
  return new Hono().get('/', async c => {
    rendering ??= render().finally(() => {
      rendering = undefined;
    });
    return c.html(await rendering);
  });
}

/** Is something wrong, what to do, how old is each source, how many requests are left? `body`: the sources. `at` is in epoch milliseconds. */
function overviewPage(
  sources: readonly SourceState[],
  body: Html,
  at: number,
  { hide, isGuarded }: ConsoleParts,
): Html {
  const timeZone = sources[0]?.timeZone ?? 'UTC';
  const verdict = verdictOf(sources, at);
  const incidents = sources.flatMap(each => each.incidents);
  const main = html`${verdictSection(verdict)}
${incidentList(incidents, { at, timeZone }, hide)}
${body}${isGuarded ? html`<p><a href="/login">Log out</a></p>` : ''}`;
  return documentOf({ title: verdict.text, section: '/', at, timeZone, main });
}

async function cardsPage(cards: readonly Card[], at: number, parts: ConsoleParts): Promise<Html> {
  const top = Math.max(0, ...cards.flatMap(({ detail }) => (detail?.ages ?? []).flatMap(age => age ?? [])));
  const beside = await besideCard(parts, at);
  const all = html`<section class="grid ${beside ? '' : 'three '}sources" aria-label="Sources">${cards.map(each => sourceCard(each, top, at))}</section>`;
  const body = beside ? html`<div class="grid alone">${all}${beside}</div>` : all;
  const sources = cards.map(({ source }) => source);
  return overviewPage(sources, body, at, parts);
}

/** The resources and the latest runs of the one source, if there is no other: they find room beside its card. */
async function besideCard(parts: ConsoleParts, at: number): Promise<Html | null> {
  const [source, ...others] = parts.sources;
  if (source === undefined || others.length > 0) return null;
  const state = await readSource(parts, source);
  if (state.unreadable !== null) return null;
  const runs = await listRuns(parts.database.kysely, { sources: [source.name] }, LATEST_RUNS);
  const now = { at, timeZone: state.timeZone };
  return html`<div class="grid">
<section class="card"><div class="head"><h2>Resources</h2><a href="/sources/${encodeURIComponent(state.name)}">Months, changes, requests</a></div>${briefList(state, now)}</section>
${runs.length === 0 ? '' : html`<section class="card"><div class="head"><h2>Latest runs</h2><a href="/runs">All runs</a></div>${runTable(runs, now, { several: false, hide: parts.hide })}</section>`}</div>`;
}

/** A table, which shows more sources at once than cards; troubles first. */
function fleetPage(sources: readonly SourceState[], at: number, parts: ConsoleParts): Html {
  const rank = (source: SourceState) => CONDITIONS.indexOf(conditionOf(source));
  const rows = [...sources]
    .sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name, 'en', { numeric: true }))
    .map(source => [
      html`<a href="/sources/${encodeURIComponent(source.name)}">${source.name}</a>`,
      badge(badgeOf(source)),
      ...(source.unreadable === null ? figuresOf(source, { at, timeZone: source.timeZone }) : ['–', '–', '–']),
    ]);
  const head = ['source', 'state', 'up to date', 'requests, last hour', 'rows'];
  const body = html`<section class="card">${table({ caption: 'Sources, troubles first', head, right: [3, 4], rows })}</section>`;
  return overviewPage(sources, body, at, parts);
}

const figuresOf = ({ requests, upToDateAt, resources }: SourceState, now: Now): (string | Html)[] => [
  upToDateAt === null ? '–' : ago(upToDateAt, now),
  count(requests),
  count(sumOf(resources, 'rows')),
];
