import { html } from 'hono/html';
import type { Usage } from '../../../budget/ledger/usage.ts';
import { stampMs } from '../../../warehouse/database/stamp.ts';
import { count, durationText, plural } from '../../format.ts';
import type { SourceStatus } from '../../status/source-status.ts';
import type { Html } from '../layout/html.ts';
import { ago, type Now, shortDuration, timeElement } from '../parts/age.ts';
import { meter } from '../parts/meter.ts';
import { sparkline } from '../parts/sparkline.ts';
import { stateBadge } from '../parts/state.ts';
import type { KnownSource, SourceFacts } from '../source-facts.ts';
import { stateOf } from './source-state.ts';

/** How long ago a source had last been up to date, over the last hours, oldest first (milliseconds); null where it had never been. */
export interface Trend {
  readonly ages: readonly (number | null)[];
  readonly hours: number;
  /** The same for all cards, so that they can be compared. */
  readonly top: number;
}

/** One source in a few lines: how old it is, what is left of its limit, what it does now. */
export function sourceCard(facts: SourceFacts, trend: Trend | null, at: number): Html {
  const { name, timeZone } = facts;
  const id = `source-${name}`;
  const head = html`<div class="head"><h2 id="${id}"><a href="/sources/${encodeURIComponent(name)}">${name}</a></h2>${stateBadge(stateOf(facts))}</div>`;
  const body = 'unreadable' in facts ? html`<p>${facts.unreadable}</p>` : cardBody(facts, trend, { at, timeZone });
  return html`<article class="card" aria-labelledby="${id}">${head}${body}</article>`;
}

const cardBody = (source: SourceFacts & KnownSource, trend: Trend | null, now: Now): Html => {
  const { status, upToDateAt, nextTickAt } = source;
  return html`
<div class="pair"><div><p class="soft">Last up to date</p><p class="big">${upToDateAt === null ? '–' : ageInBig(upToDateAt, now)}</p></div>${trend === null ? '' : trendFigure(trend, stateOf(source).tone)}</div>
<hr>
<div>${status.usage ? usageSection(status.usage, now) : html`<p class="soft">Its address or key is not set, so its limit is not known.</p>`}</div>
<hr>
<dl class="kv"><dt>Now</dt><dd>${nowText(status)}</dd><dt>Next tick</dt><dd>${nextTickAt === null ? 'None: no schedule' : ago(nextTickAt, now)}</dd><dt>Delay</dt><dd>${delayText(status)}</dd></dl>
<hr>
${rowsLine(status)}`;
};

function trendFigure({ ages, hours, top }: Trend, tone: string): Html | string {
  const known = ages.flatMap(each => each ?? []);
  if (known.length < 2) return '';
  const [least, most] = [shortDuration(Math.min(...known)), shortDuration(Math.max(...known))];
  const words = least === most ? most : `${least} to ${most}`;
  const label = `Age in the last ${hours} hours: ${words}`;
  return html`<figure>${sparkline(ages, { label, tone, top })}<figcaption>${hours} h · ${words}</figcaption></figure>`;
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

function nowText({ runs, reader }: SourceStatus): string {
  const [run] = runs;
  if (run === undefined) return reader === null ? 'Nothing' : 'Keeping it fresh';
  const more = runs.length > 1 ? ` and ${plural(runs.length - 1, 'other run')}` : '';
  const what = run.kind === 'slot' ? 'tick' : run.kind;
  return `${run.resource}: ${what}${run.state === 'running' ? '' : `, ${run.state}`}${more}`;
}

/** The slowest of its lists, on average. */
function delayText({ delays }: SourceStatus): string {
  const means = delays.flatMap(({ expected }) => expected?.meanSeconds ?? []);
  return means.length === 0
    ? 'Not known yet'
    : `A change arrives after ${durationText(Math.max(...means))} on average, or sooner`;
}

function rowsLine({ resources }: SourceStatus): Html {
  const sum = (value: (each: (typeof resources)[number]) => number) =>
    resources.reduce((total, each) => total + value(each), 0);
  const figures = [
    [sum(each => each.rows), 'rows'],
    [sum(each => each.missing), 'missing'],
    [sum(each => each.quarantined), 'quarantined'],
  ] as const;
  return html`<p class="foot">${figures.map(([value, word]) => html`<span><b>${count(value)}</b> ${word}</span>`)}</p>`;
}
