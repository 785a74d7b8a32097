import { html } from 'hono/html';
import type { Usage } from '../../../budget/ledger/usage.ts';
import { stampMs } from '../../../warehouse/database/stamp.ts';
import { count, durationText, plural, shortDuration } from '../../format.ts';
import { badgeOf } from '../../status/condition.ts';
import type { SourceState } from '../../status/source-state.ts';
import type { Html } from '../layout/html.ts';
import { badge } from '../layout/icons.ts';
import { ago, type Now, timeElement } from '../parts/age.ts';
import { meter } from '../parts/meter.ts';
import { sparkline } from '../parts/sparkline.ts';
import { type Card, type CardDetail, TREND_HOURS } from './read-cards.ts';

/** One source in a few lines: how old it is, what is left of its limit, what it does now. `top`: the scale of all trends (milliseconds). */
export function sourceCard({ source, detail }: Card, top: number, at: number): Html {
  const { name, timeZone } = source;
  const id = `source-${name}`;
  const head = html`<div class="head"><h2 id="${id}"><a href="/sources/${encodeURIComponent(name)}">${name}</a></h2>${badge(badgeOf(source))}</div>`;
  const body =
    source.unreadable === null
      ? cardBody(source, detail, { tone: badgeOf(source).tone, top }, { at, timeZone })
      : html`<p>${source.unreadable}</p>`;
  return html`<article class="card" aria-labelledby="${id}">${head}${body}</article>`;
}

function cardBody(source: SourceState, detail: CardDetail | null, look: Look, now: Now): Html {
  const { upToDateAt, resources } = source;
  const sum = (figure: 'rows' | 'missing' | 'quarantined') => resources.reduce((all, each) => all + each[figure], 0);
  const { usage, nextTickAt = null, delaySeconds = null, ages = [] } = detail ?? {};
  const delay =
    delaySeconds === null
      ? 'Not known yet'
      : `A change arrives after ${durationText(delaySeconds)} on average, or sooner`;
  return html`
<div class="pair"><div><p class="soft">Last up to date</p><p class="big">${upToDateAt === null ? '–' : ageInBig(upToDateAt, now)}</p></div>${trendFigure(ages, look)}</div>
<hr>
<div>${usage ? usageSection(usage, now) : ''}</div>
<hr>
<dl class="kv"><dt>Now</dt><dd>${nowText(source)}</dd><dt>Next tick</dt><dd>${nextTickAt === null ? 'None: no schedule' : ago(nextTickAt, now)}</dd><dt>Delay</dt><dd>${delay}</dd></dl>
<hr>
${figuresLine({ rows: sum('rows'), missing: sum('missing'), quarantined: sum('quarantined') })}`;
}

interface Look {
  readonly tone: string;
  readonly top: number;
}

function trendFigure(ages: readonly (number | null)[], { tone, top }: Look): Html | string {
  const known = ages.flatMap(each => each ?? []);
  if (known.length < 2) return '';
  const [least, most] = [shortDuration(Math.min(...known)), shortDuration(Math.max(...known))];
  const words = least === most ? most : `${least} to ${most}`;
  const label = `Age in the last ${TREND_HOURS} hours: ${words}`;
  return html`<figure>${sparkline(ages, { label, tone, top })}<figcaption>${TREND_HOURS} h · ${words}</figcaption></figure>`;
}

const ageInBig = (at: number, now: Now): Html =>
  html`${timeElement(at, now.timeZone, shortDuration(now.at - at))} <small>ago</small>`;

/** Used by lane, what others used, and when a request frees. */
export function usageSection(usage: Usage, now: Now): Html {
  const { limit, used, withheld, byLane, free, blockedUntil, nextFreeAt, isNew } = usage;
  const granted = byLane.live + byLane.backfill + byLane.verify;
  const text = `${count(used)} of ${count(limit)} requests used`;
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
  return html`<p>${text}</p>${meter(shares, limit, text)}<p class="soft">${left}</p>`;
}

function nowText({ runs, reader }: SourceState): string {
  const [run] = runs;
  if (run === undefined) return reader !== null ? 'Keeping it fresh' : 'Nothing';
  const more = runs.length > 1 ? ` and ${plural(runs.length - 1, 'other run')}` : '';
  const what = run.kind === 'slot' ? 'tick' : run.kind;
  return `${run.resource}: ${what}${run.state === 'running' ? '' : `, ${run.state}`}${more}`;
}

const figuresLine = (figures: Readonly<Record<string, number>>): Html =>
  html`<p class="foot">${Object.entries(figures).map(([word, value]) => html`<span><b>${count(value)}</b> ${word}</span>`)}</p>`;
