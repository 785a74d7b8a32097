import { Hono } from 'hono';
import { html } from 'hono/html';
import type { Usage } from '../../budget/ledger/usage.ts';
import { HOUR, MINUTE } from '../../clock.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import { type TickServed, ticksServedWithin } from '../../warehouse/reports/activity.ts';
import { count, durationText, plural, shortDuration } from '../format.ts';
import type { Html } from '../html-document.ts';
import { sharedRun } from '../shared-run.ts';
import { badgeOf, CONDITIONS, conditionOf, verdictOf } from '../status/condition.ts';
import { readDelays } from '../status/resource-delays.ts';
import { mapSources, type ServedSource } from '../status/served-source.ts';
import { type SourceState, sumOf, unreadableState } from '../status/source-state.ts';
import { sparkline } from './charts.ts';
import { type ConsoleParts, noteUnreadable, readRuns, readSource, readSources } from './console-parts.ts';
import { ago, badge, documentOf, facts, type Now, table, timeElement, toneOf, verdictSection } from './elements.ts';
import { briefList, incidentList, runHistory, usageSection } from './state-sections.ts';

/** From so many sources on, a table shows more of them at once than cards. */
const MOST_CARDS = 12;
const LATEST_RUNS = 5;

/**
 * Is something wrong, what to do, how old is each source, how many requests are left? Concurrent requests share one rendering, so that many
 * open pages cost no more than one.
 */
export function overviewRoutes(parts: ConsoleParts): Hono {
  const readCards = createCards(parts);
  const render = sharedRun(async () => {
    const at = await databaseNow(parts.database);
    const states = await readSources(parts);
    const cards = parts.sources.length > MOST_CARDS ? null : await readCards(states, at);
    const sources = cards?.map(({ source }) => source) ?? states;
    const timeZone = sources[0]?.timeZone ?? 'UTC';
    const verdict = verdictOf(sources, at);
    const incidents = sources.flatMap(each => each.incidents);
    const main = html`${verdictSection(verdict)}
${incidentList(incidents, { at, timeZone })}
${cards === null ? fleetTable(states, at) : await cardGrid(cards, at, parts)}${parts.isGuarded ? html`<p><a href="/login">Log out</a></p>` : ''}`;
    return String(await documentOf({ title: verdict.text, section: '/', at, timeZone, main }));
  });
  return new Hono().get('/', async c => c.html(await render()));
}

async function cardGrid(cards: readonly Card[], at: number, parts: ConsoleParts): Promise<Html> {
  const top = Math.max(0, ...cards.flatMap(({ detail }) => (detail?.ages ?? []).flatMap(age => age ?? [])));
  const beside = await besideCard(parts, at);
  const all = html`<section class="grid ${beside ? '' : 'three '}sources" aria-label="Sources">${cards.map(each => sourceCard(each, top, at))}</section>`;
  return beside ? html`<div class="grid alone">${all}${beside}</div>` : all;
}

/** The resources and the latest runs of the one source, if there is no other: they find room beside its card. */
async function besideCard(parts: ConsoleParts, at: number): Promise<Html | null> {
  const [source, ...others] = parts.sources;
  if (source === undefined || others.length > 0) return null;
  const state = await readSource(parts, source);
  if (state.unreadable !== null) return null;
  const runs = await readRuns(parts, { sources: [source.name] }, LATEST_RUNS);
  const now = { at, timeZone: state.timeZone };
  return html`<div class="grid">
<section class="card"><div class="head"><h2>Resources</h2><a href="/sources/${encodeURIComponent(state.name)}">Months, changes, requests</a></div>${briefList(state, now)}</section>
${runs.length === 0 ? '' : html`<section class="card"><div class="head"><h2>Latest runs</h2><a href="/runs">All runs</a></div>${runHistory(runs, now)}</section>`}</div>`;
}

/** A table, which shows more sources at once than cards; troubles first. */
function fleetTable(sources: readonly SourceState[], at: number): Html {
  const rank = (source: SourceState) => CONDITIONS.indexOf(conditionOf(source));
  const rows = [...sources]
    .sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name, 'en', { numeric: true }))
    .map(source => {
      const { name, timeZone, unreadable, upToDateAt, requests, resources } = source;
      return [
        html`<a href="/sources/${encodeURIComponent(name)}">${name}</a>`,
        badge(badgeOf(source)),
        upToDateAt === null ? '–' : ago(upToDateAt, { at, timeZone }),
        ...(unreadable === null ? [count(requests), count(sumOf(resources, 'rows'))] : ['–', '–']),
      ];
    });
  const head = ['source', 'state', 'up to date', 'requests, last hour', 'rows'];
  return html`<section class="card">${table({ caption: 'Sources, troubles first', head, right: [3, 4], rows })}</section>`;
}

/** One source in a few lines: how old it is, what is left of its limit, what it does now. `top`: the scale of all trends (milliseconds). */
function sourceCard(card: Card, top: number, at: number): Html {
  const { name, timeZone, unreadable } = card.source;
  const id = `source-${name}`;
  const head = html`<div class="head"><h2 id="${id}"><a href="/sources/${encodeURIComponent(name)}">${name}</a></h2>${badge(badgeOf(card.source))}</div>`;
  const body = unreadable === null ? cardBody(card, top, { at, timeZone }) : html`<p>${unreadable}</p>`;
  return html`<article class="card" aria-labelledby="${id}">${head}${body}</article>`;
}

const FIGURES = ['rows', 'missing', 'quarantined'] as const;

function cardBody({ source, detail }: Card, top: number, now: Now): Html {
  const { upToDateAt, resources } = source;
  const { usage, nextTickAt = null, delaySeconds = null, ages = [] } = detail ?? {};
  const delay =
    delaySeconds === null ? 'Not known yet' : `A change arrives within ${durationText(delaySeconds)} on average`;
  return html`
<div class="pair"><div><p class="soft">Last up to date</p><p class="big">${upToDateAt === null ? '–' : html`${timeElement(upToDateAt, now.timeZone, shortDuration(now.at - upToDateAt))} <small>ago</small>`}</p></div>${trendFigure(ages, { tone: toneOf(badgeOf(source).icon), top })}</div>
<hr>
<div>${usage ? usageSection(usage, now) : ''}</div>
<hr>
${facts([
  ['Now', nowText(source)],
  ['Next tick', nextTickAt === null ? 'None: no schedule' : ago(nextTickAt, now)],
  ['Delay', delay],
])}
<hr>
<p class="foot">${FIGURES.map(figure => html`<span><b>${count(sumOf(resources, figure))}</b> ${figure}</span>`)}</p>`;
}

function trendFigure(ages: readonly (number | null)[], { tone, top }: { tone: string; top: number }): Html | string {
  const known = ages.flatMap(each => each ?? []);
  if (known.length < 2) return '';
  const [least, most] = [shortDuration(Math.min(...known)), shortDuration(Math.max(...known))];
  const words = least === most ? most : `${least} to ${most}`;
  const label = `Age in the last ${TREND_HOURS} hours: ${words}`;
  return html`<figure>${sparkline(ages, { label, tone, top })}<figcaption>${TREND_HOURS} h · ${words}</figcaption></figure>`;
}

function nowText({ runs, reader }: SourceState): string {
  const [run] = runs;
  if (run === undefined) return reader !== null ? 'Keeping it fresh' : 'Nothing';
  const more = runs.length > 1 ? ` and ${plural(runs.length - 1, 'other run')}` : '';
  return `${run.resource}: ${run.kind === 'slot' ? 'tick' : run.kind}${run.state === 'running' ? '' : `, ${run.state}`}${more}`;
}

/** The time that the ages of a card cover. */
const TREND_HOURS = 24;
/** One each half hour. */
const POINTS = 2 * TREND_HOURS;
/** An expected delay changes slowly, and takes longer to compute than all else on a card. */
const DELAY_KEPT_MS = MINUTE;

/** What the cards show; of a source that cannot be read, no `detail`, which goes beyond the table of many sources. */
function createCards(parts: ConsoleParts) {
  const { database, sources } = parts;
  const delays = new Map<string, { readonly at: number; readonly seconds: number | null }>();
  /** Of the slowest of its lists, on average; null while it is not known. */
  const delayOf = async (source: ServedSource, usage: Usage, now: number) => {
    const kept = delays.get(source.name);
    if (kept && Math.abs(now - kept.at) < DELAY_KEPT_MS) return kept.seconds;
    const means = (await readDelays(database, source, usage)).flatMap(({ expected }) => expected?.meanSeconds ?? []);
    const seconds = means.length === 0 ? null : Math.max(...means);
    delays.set(source.name, { at: now, seconds });
    return seconds;
  };
  const readCard = async (source: ServedSource, now: number) => {
    const usage = await source.usage();
    const ticks = await ticksServedWithin(database.kysely, source.name, source.scheduled, TREND_HOURS);
    const ages = ageTrend(ticks, source.scheduled, { now, hours: TREND_HOURS, points: POINTS });
    return { usage, ages, delaySeconds: await delayOf(source, usage, now), nextTickAt: source.nextTickAt(now) };
  };
  return (states: readonly SourceState[], now: number) =>
    mapSources(sources, async (source, place) => {
      const state = states[place] as SourceState;
      if (state.unreadable !== null) return { source: state, detail: null };
      try {
        return { source: state, detail: await readCard(source, now) };
      } catch (error) {
        return { source: unreadableState(source, noteUnreadable(parts, source, error)), detail: null };
      }
    });
}

type Card = Awaited<ReturnType<ReturnType<typeof createCards>>>[number];

/**
 * How long ago the source had last been up to date at each of `points` moments of the last `hours`, in milliseconds, oldest first: the age of the
 * oldest tick among those that the resources had been served last. Null where one had not been served yet.
 */
export function ageTrend(
  ticks: readonly TickServed[],
  resources: readonly string[],
  { now, hours, points }: { now: number; hours: number; points: number },
): (number | null)[] {
  const span = hours * HOUR;
  const served = new Map<string, number>();
  let next = 0;
  const ages: (number | null)[] = [];
  for (let point = 0; point < points; point++) {
    const moment = now - span + (span * (point + 1)) / points;
    for (let tick = ticks[next]; tick && tick.endedAt <= moment; tick = ticks[++next])
      served.set(tick.resource, Math.max(served.get(tick.resource) ?? 0, tick.at));
    const known = resources.flatMap(resource => served.get(resource) ?? []);
    ages.push(resources.length > 0 && known.length === resources.length ? moment - Math.min(...known) : null);
  }
  return ages;
}
