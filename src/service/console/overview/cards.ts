import { html } from 'hono/html';
import type { Usage } from '../../../budget/ledger/usage.ts';
import { MINUTE } from '../../../clock.ts';
import { type TickServed, ticksServedWithin } from '../../../warehouse/reports/activity.ts';
import { count, durationText, plural, shortDuration } from '../../format.ts';
import { badgeOf } from '../../status/condition.ts';
import { readDelays } from '../../status/resource-delays.ts';
import { mapSources, type ServedSource } from '../../status/served-source.ts';
import { type SourceState, sumOf, unreadableState } from '../../status/source-state.ts';
import { sparkline } from '../charts.ts';
import { type ConsoleParts, noteUnreadable } from '../console-parts.ts';
import { ago, badge, facts, type Html, type Now, timeElement } from '../elements.ts';
import { usageSection } from '../state-sections.ts';

/** One source in a few lines: how old it is, what is left of its limit, what it does now. `top`: the scale of all trends (milliseconds). */
export function sourceCard({ source, detail }: Card, top: number, at: number): Html {
  const { name, timeZone } = source;
  const id = `source-${name}`;
  const head = html`<div class="head"><h2 id="${id}"><a href="/sources/${encodeURIComponent(name)}">${name}</a></h2>${badge(badgeOf(source))}</div>`;
  const body =
    source.unreadable === null ? cardBody(source, detail, top, { at, timeZone }) : html`<p>${source.unreadable}</p>`;
  return html`<article class="card" aria-labelledby="${id}">${head}${body}</article>`;
}

const FIGURES = ['rows', 'missing', 'quarantined'] as const;

function cardBody(source: SourceState, detail: CardDetail | null, top: number, now: Now): Html {
  const { upToDateAt, resources } = source;
  const { usage, nextTickAt = null, delaySeconds = null, ages = [] } = detail ?? {};
  const delay =
    delaySeconds === null
      ? 'Not known yet'
      : `A change arrives after ${durationText(delaySeconds)} on average, or sooner`;
  return html`
<div class="pair"><div><p class="soft">Last up to date</p><p class="big">${upToDateAt === null ? '–' : html`${timeElement(upToDateAt, now.timeZone, shortDuration(now.at - upToDateAt))} <small>ago</small>`}</p></div>${trendFigure(ages, { tone: badgeOf(source).tone, top })}</div>
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
  const what = run.kind === 'slot' ? 'tick' : run.kind;
  return `${run.resource}: ${what}${run.state === 'running' ? '' : `, ${run.state}`}${more}`;
}

export interface Card {
  readonly source: SourceState;
  /** Null where the source cannot be read. */
  readonly detail: CardDetail | null;
}

/** What a card shows beyond the table of many sources. */
interface CardDetail {
  readonly usage: Usage;
  readonly nextTickAt: number | null;
  /** Of the slowest of its lists, on average; null while it is not known. */
  readonly delaySeconds: number | null;
  /** How long ago it had last been up to date, oldest first (milliseconds); null where it had never been. */
  readonly ages: readonly (number | null)[];
}

/** The time that the ages of a card cover. */
const TREND_HOURS = 24;
/** One each half hour. */
const POINTS = 2 * TREND_HOURS;
/** An expected delay changes slowly, and takes longer to compute than all else on a card. */
const DELAY_KEPT_MS = MINUTE;

export function createCards(parts: ConsoleParts) {
  const { database, sources } = parts;
  const delays = new Map<string, { readonly at: number; readonly seconds: number | null }>();
  const delayOf = async (source: ServedSource, usage: Usage, now: number) => {
    const kept = delays.get(source.name);
    if (kept && Math.abs(now - kept.at) < DELAY_KEPT_MS) return kept.seconds;
    const means = (await readDelays(database, source, usage)).flatMap(({ expected }) => expected?.meanSeconds ?? []);
    const seconds = means.length === 0 ? null : Math.max(...means);
    delays.set(source.name, { at: now, seconds });
    return seconds;
  };
  return (states: readonly SourceState[], now: number): Promise<Card[]> =>
    mapSources(sources, async (source): Promise<Card> => {
      const state = states.find(({ name }) => name === source.name);
      if (state === undefined || state.unreadable !== null)
        return { source: state ?? unreadableState(source, 'It is not configured.'), detail: null };
      try {
        const usage = await source.usage();
        const ticks = await ticksServedWithin(database.kysely, source.name, source.scheduled, TREND_HOURS);
        const ages = ageTrend(ticks, source.scheduled, { now, hours: TREND_HOURS, points: POINTS });
        const delaySeconds = await delayOf(source, usage, now);
        return { source: state, detail: { usage, nextTickAt: source.nextTickAt(now), delaySeconds, ages } };
      } catch (error) {
        return { source: unreadableState(source, noteUnreadable(parts, source, error)), detail: null };
      }
    });
}

/**
 * How long ago the source had last been up to date at each of `points` moments of the last `hours`, in milliseconds, oldest first: the age of the
 * oldest tick among those that the resources had been served last. Null where one had not been served yet.
 */
export function ageTrend(
  ticks: readonly TickServed[],
  resources: readonly string[],
  { now, hours, points }: { now: number; hours: number; points: number },
): (number | null)[] {
  const span = hours * 3_600_000;
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
