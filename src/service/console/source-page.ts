import { Hono } from 'hono';
import { html } from 'hono/html';
import { HOUR, SECOND, stampMs } from '../../clock.ts';
import { hourlyLimit } from '../../engine/agenda/list-facts.ts';
import { readAgenda } from '../../engine/run/read-agenda.ts';
import { dayIn } from '../../engine/slices/date-windows.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { readSourceCoverage } from '../../warehouse/ledgers/coverage.ts';
import { readTraits } from '../../warehouse/ledgers/traits.ts';
import { changesByDay, PURPOSES, requestsByHour } from '../../warehouse/reports/activity.ts';
import { count, durationText, moment, plural, shortDuration } from '../format.ts';
import type { Html } from '../html-document.ts';
import { verdictOf } from '../status/condition.ts';
import { describeProfile } from '../status/describe-profile.ts';
import { nextQuestions, type ShownAgenda } from '../status/next-questions.ts';
import type { ServedSource } from '../status/served-source.ts';
import type { FullState } from '../status/source-state.ts';
import { runTable } from '../status/status-tables.ts';
import { type Calendar, calendarOf, calendarSection } from './calendar.ts';
import { bars, meter } from './charts.ts';
import { type ConsoleParts, nowIn, readSource, sourceOf } from './console-parts.ts';
import { ago, card, documentOf, facts, icon, type Now, table, timeOfDay, verdictSection } from './elements.ts';
import { incidentList, resourceList, usageSection } from './state-sections.ts';

/** Which resource lags, which months are unproven, where do the requests go, what is asked next? */
export const sourceRoutes = (parts: ConsoleParts): Hono =>
  new Hono().get('/sources/:source', async c => {
    const source = sourceOf(parts, c);
    const now = await nowIn(parts, source);
    const { state, detail } = await readDetailedSource(parts, source, now.at);
    const shown =
      detail === null ? html`<p>${state.unreadable}</p>` : sections(state, detail, now, c.req.query('months'));
    const main = html`<p class="crumb"><a href="/">Overview</a> / ${source.name}</p>
${verdictSection(verdictOf([state], now.at))}
${shown}`;
    return c.html(documentOf({ title: source.name, section: '/', ...now, main }));
  });

/** `months`: the list of the calendar. */
function sections(source: FullState, detail: SourceDetail, now: Now, months: string | undefined): Html {
  return html`${incidentList(source.incidents, now)}
${figures(source, detail, now)}
${card('Resources', [resourceList(source, now), html`<p class="soft after">Missing: the source no longer shows them; they are kept until their deletion is proven. Oldest proof: the part that was read in full and made equal longest ago.</p>`])}
${source.drift.length > 0 ? card('Fields that changed', driftSection(source.drift, now)) : ''}
<section class="card" id="months"><div class="head"><h2>When each month was last proven equal</h2><span class="soft">Each cell links to the cost of reading that month again</span></div>${calendarSection(detail.calendars, { source: source.name, chosen: months }, now)}</section>
<div class="grid two">
<div class="col">
${card(`Changes of the last ${DAYS} days`, changesChart(detail))}
${card('What it asks next', agendaSection(detail), agendaNote(detail.agenda))}
</div>
<div class="col">
${card('Requests of the last 24 hours', requestsChart(detail, now.timeZone))}
${card('Requests of this window', source.usage ? [usageSection(source.usage, now), spendingTable(source)] : html`<p class="soft">Its address or key is not set.</p>`, html`<a href="/reserve/${encodeURIComponent(source.name)}">Leave some to other programs</a>`)}
${card('Runs in progress', source.runs.length > 0 ? table({ caption: 'Runs in progress', ...runTable(source, now.timeZone) }) : html`<p class="soft">None.</p>`)}
${card('Orders', orderSection(source, now))}
${card('What this source was found to do', profileSection(detail.profile))}
${card('Failures of the last week', failureSection(source, now))}
</div>
</div>`;
}

/** Four figures that a glance takes in. */
function figures({ delays, resources, usage, timeZone }: FullState, { nextTickAt }: SourceDetail, now: Now): Html {
  const means = delays.flatMap(({ expected }) => expected?.meanSeconds ?? []);
  const measured = delays.flatMap(({ measuredSeconds }) => measuredSeconds ?? []);
  const delay =
    means.length === 0 ? '–' : `${means.length > 1 ? 'up to ' : ''}${shortDuration(Math.max(...means) * SECOND)}`;
  const proofs = resources.flatMap(each =>
    each.oldestProof === null ? [] : [{ resource: each.resource, at: stampMs(each.oldestProof) }],
  );
  const oldest = proofs.sort((a, b) => a.at - b.at)[0];
  const unread = resources.filter(each => each.neverRead > 0 && !each.absent).length;
  return html`<section class="grid four" aria-label="Figures">
${figure('A change arrives after', delay, measured.length === 0 ? 'expected, on average' : `up to ${durationText(Math.max(...measured))} measured`)}
${figure('Oldest proof', oldest === undefined ? '–' : shortDuration(now.at - oldest.at), unread > 0 ? `${plural(unread, 'resource')} not read in full yet` : (oldest?.resource ?? 'nothing was read yet'))}
${figure('Requests left', usage === null ? '–' : html`${count(usage.free)} <small>of ${count(usage.limit)}</small>`, usage?.nextFreeAt ? html`the next ${ago(stampMs(usage.nextFreeAt), now)}` : 'in this window')}
${figure('Next tick', nextTickAt === null ? '–' : shortDuration(Math.max(nextTickAt - now.at, 0)), nextTickAt === null ? 'no schedule' : html`at ${nextTickAt - now.at > 20 * HOUR ? moment(nextTickAt, timeZone) : timeOfDay(nextTickAt, timeZone)}`)}
</section>`;
}

const figure = (name: string, value: Html | string, note: Html | string): Html =>
  html`<div class="card"><p class="soft">${name}</p><p class="big">${value}</p><p class="soft">${note}</p></div>`;

function spendingTable({ lastHour }: FullState): Html | string {
  if (lastHour.length === 0) return '';
  const rows = lastHour.map(each => [each.kind, each.resource, count(each.requests)]);
  return table({ caption: 'Requests of the last hour', head: ['for', 'resource', 'last hour'], right: [2], rows });
}

function failureSection({ recentFailures }: FullState, now: Now): Html {
  if (recentFailures.length === 0) return html`<p class="soft">None.</p>`;
  return html`<ul class="story">${recentFailures.map(
    run => html`<li>${icon('bad')}<p><b>${run.resource}</b>, ${run.kind}, ${moment(run.endedAt, now.timeZone)}</p>
<p>${run.reason}</p>${run.next ? html`<p class="soft">Next: ${run.next}</p>` : ''}</li>`,
  )}</ul>`;
}

/** Fields that appeared or vanished: for information. */
const driftSection = (drift: FullState['drift'], now: Now): Html =>
  html`<ul class="queue">${drift.map(
    each => html`<li><div class="head"><h3>${each.resource}.${each.field}</h3><span class="soft">${each.kind} since ${ago(stampMs(each.since), now)}</span></div>
<p>${each.meaning}</p></li>`,
  )}</ul>`;

function orderSection({ orders }: FullState, now: Now): Html | Html[] {
  if (orders.length === 0) return html`<p class="soft">None under way.</p>`;
  return orders.map(({ id, kind, resource, state, progress: { proven, slices }, createdAt }) => {
    const text = `${count(proven)} of ${count(slices)} slices proven`;
    return html`<p><a href="/orders/${id}">Order ${id}</a>: ${kind} of ${resource}, ${state}, created ${ago(createdAt, now)}</p>${meter([{ name: '', colour: 'q5', value: proven }], slices, text)}<p class="soft">${text}</p>`;
  });
}

const profileSection = (profile: readonly { readonly list: string; readonly words: string }[]): Html =>
  profile.length === 0
    ? html`<p class="soft">Nothing yet: the first answers will show it.</p>`
    : facts(profile.map(({ list, words }) => [list === '' ? 'all lists' : list, words]));

const changesChart = ({ changes }: SourceDetail): Html =>
  bars({
    label: 'Rows changed each day',
    unit: 'day',
    series: { new: 'q1', changed: 'q3', deleted: 'q5' },
    columns: changes.map(each => ({ name: each.day, values: [each.inserted, each.updated, each.deleted] })),
  });

/** What each purpose is called. */
const NAMES: Readonly<Record<(typeof PURPOSES)[number], string>> = {
  newest: 'newest rows',
  open: 'open items',
  older: 'older parts',
  single: 'single rows',
  backfill: 'backfill',
  verify: 'verify',
};

function requestsChart({ requests, hourlyLimit: limit }: SourceDetail, timeZone: string): Html {
  const all = requests.reduce((sum, hour) => sum + PURPOSES.reduce((of, name) => of + hour[name], 0), 0);
  return html`<p class="soft">${count(all)} requests; dashed: the ${count(Math.floor(limit))} that Sluice may send in an hour.</p>${bars(
    {
      label: 'Requests of each hour by purpose',
      unit: 'hour',
      series: Object.fromEntries(PURPOSES.map((name, place) => [NAMES[name], `q${place + 1}`])),
      columns: requests.map(hour => ({
        name: moment(hour.at, timeZone).slice(11, 16),
        values: PURPOSES.map(name => hour[name]),
      })),
      limit,
    },
  )}`;
}

/** What is asked next, and why; and when, at the pace of the limit. */
function agendaSection({ agenda: { questions, unread }, hourlyLimit: limit }: SourceDetail): Html {
  if (questions.length === 0)
    return html`<p class="soft">Nothing yet: the agenda lists what was read in full at least once.</p>`;
  let before = 0;
  const rows = questions.map(({ resource, question, requests, ageSeconds, changesAnHour, why }) => {
    const inMs = (before * HOUR) / limit;
    before += requests;
    const rate = changesAnHour >= 0.1 ? `; ${changesAnHour.toFixed(1)} changes an hour` : '';
    return html`<tr><td class="soft num">${inMs < SECOND ? 'now' : shortDuration(inMs)}</td>
<td><b>${resource}: ${question}</b><br><span class="soft">${why}; last asked ${durationText(ageSeconds)} ago${rate}</span></td>
<td class="num">${plural(Math.round(requests), 'request')}</td></tr>`;
  });
  return html`<table><caption class="sr">The next questions</caption><thead><tr><th scope="col" class="num">in</th><th scope="col">question, and why</th><th scope="col" class="num">cost</th></tr></thead>
<tbody>${rows}</tbody></table>${unread.length > 0 ? html`<p class="soft after">Never read in full: ${unread.join(', ')}.</p>` : ''}`;
}

/** `8 of 1,204 questions`. */
const agendaNote = ({ questions, more }: ShownAgenda): string =>
  `${count(questions.length)} of ${plural(questions.length + more, 'question')}`;

/** What only the page of one source shows, and the overview does not. */
export type SourceDetail = Awaited<ReturnType<typeof readDetail>>;

const DAYS = 30;
const MOST_QUESTIONS = 8;

/** Everything that the page of a source shows; no detail where the source cannot be read. `now`: epoch milliseconds. */
export async function readDetailedSource(parts: ConsoleParts, source: ServedSource, now: number) {
  const state = await readSource(parts, source);
  return { state, detail: state.unreadable === null ? await readDetail(parts.database, source, state, now) : null };
}

async function readDetail(database: Database, source: ServedSource, { usage, readAt }: FullState, now: number) {
  const { kysely } = database;
  const { name, timeZone, schema } = source;
  const today = dayIn(now, source.rules.timeZone);
  /** By resource; those that are not read by date are left out. */
  const calendars = new Map<string, Calendar>();
  for (const [resource, entries] of await readSourceCoverage(kysely, name)) {
    const calendar = source.jobs.has(resource) ? calendarOf(entries, today) : null;
    if (calendar !== null) calendars.set(resource, calendar);
  }
  const rules = { ...source.rules, limit: usage?.limit ?? source.rules.limit };
  return {
    calendars,
    changes: await changesByDay(kysely, { source: name, resources: [...source.jobs.keys()], timeZone }, DAYS),
    requests: await requestsByHour(kysely, name),
    /** Requests that Sluice may send in an hour: what the source allows without the reserve. */
    hourlyLimit: hourlyLimit(rules),
    agenda: nextQuestions(await readAgenda(database, { ...source, rules }, schema), MOST_QUESTIONS),
    profile: describeProfile(await readTraits(kysely, name)),
    /** Epoch milliseconds; null without a schedule. */
    nextTickAt: source.nextTickAt(readAt),
  };
}
