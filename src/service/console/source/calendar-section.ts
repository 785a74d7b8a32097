import { html } from 'hono/html';
import { DAY, HOUR } from '../../../clock.ts';
import { moment, shortDuration } from '../../format.ts';
import type { Html } from '../layout/html.ts';
import type { Now } from '../parts/age.ts';
import { tabs } from '../parts/tabs.ts';
import type { Calendar, MonthProof } from './calendar.ts';

const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

/** Proof fades as it ages: the class of a cell, and the words of the key. */
const FADES = [
  { within: HOUR, colour: 'p0', words: 'within the hour' },
  { within: DAY, colour: 'p1', words: 'a day' },
  { within: 3 * DAY, colour: 'p2', words: '3 days' },
  { within: 7 * DAY, colour: 'p3', words: 'a week' },
  { within: Number.POSITIVE_INFINITY, colour: 'p4', words: 'longer ago' },
] as const;

/** How long ago each month was proven equal, for one list at a time. Each cell leads to what reading that month again costs. */
export function calendarSection(
  calendars: ReadonlyMap<string, Calendar>,
  { source, chosen }: { source: string; chosen: string | undefined },
  now: Now,
): Html {
  const [first] = calendars.keys();
  const resource = chosen !== undefined && calendars.has(chosen) ? chosen : first;
  const calendar = resource === undefined ? undefined : calendars.get(resource);
  if (resource === undefined || calendar === undefined) return html`<p class="soft">No list is read by date yet.</p>`;
  const address = `/sources/${encodeURIComponent(source)}`;
  const choice = tabs(
    'Lists that are read by date',
    [...calendars.keys()].map(name => ({
      name,
      path: `${address}?months=${encodeURIComponent(name)}#months`,
      isCurrent: name === resource,
    })),
  );
  const cell = (proof: MonthProof, of: MonthCell) => drawCell(proof, { source, resource, ...of }, now);
  return html`${choice}<table class="cal"><caption class="sr">${resource} by month: how long ago each was proven equal to the source</caption>
<thead><tr><td></td>${MONTHS.map(name => html`<th scope="col"><abbr title="${name}">${name.slice(0, 1)}<span class="m3">${name.slice(1, 3)}</span></abbr></th>`)}</tr></thead>
<tbody>${calendar.years.map(
    ({ year, months }) =>
      html`<tr><th scope="row">${year}</th>${months.map((proof, index) =>
        cell(proof, {
          name: `${MONTHS[index]} ${year}`,
          from: `${year}-${String(index + 1).padStart(2, '0')}-01`,
          to: lastDay(year, index),
        }),
      )}</tr>`,
  )}${
    calendar.earlier === null
      ? ''
      : html`<tr><th scope="row">earlier</th>${cell(calendar.earlier, {
          name: `Before ${calendar.years.at(-1)?.year}`,
          from: '',
          to: `${(calendar.years.at(-1)?.year ?? 0) - 1}-12-31`,
        })}</tr>`
  }</tbody></table>
<p class="key">${FADES.map(
    ({ colour, words }) =>
      html`<span><svg aria-hidden="true"><rect class="${colour}" width="12" height="12" rx="2"/></svg>${words}</span>`,
  )}<span>hatched: never read in full</span></p>`;
}

interface MonthCell {
  readonly name: string;
  /** First and last day; empty: no bound. */
  readonly from: string;
  readonly to: string;
}

function drawCell(
  proof: MonthProof,
  { source, resource, name, from, to }: MonthCell & { source: string; resource: string },
  { at, timeZone }: Now,
): Html {
  if (proof === 'future') return html`<td></td>`;
  const query = new URLSearchParams({ source, resource, ...(from === '' ? {} : { from }), to });
  const [colour, text, words] =
    proof === 'never'
      ? ['never', '–', 'never read in full']
      : [
          FADES.find(({ within }) => at - proof < within)?.colour ?? 'p4',
          cellAge(at - proof),
          `proven ${shortDuration(at - proof)} ago, at ${moment(proof, timeZone)} ${timeZone}`,
        ];
  return html`<td class="${colour}"><a href="/orders/new?${query.toString()}" title="${name}: ${words}"><span class="sr">${name}: </span><span>${text}</span></a></td>`;
}

/** `4m`, `3h`, `12d`: three characters, since twelve cells stand side by side on a phone. */
function cellAge(ms: number): string {
  if (ms < HOUR) return `${Math.max(Math.round(ms / 60_000), 0)}m`;
  if (ms < 2 * DAY) return `${Math.round(ms / HOUR)}h`;
  return `${Math.round(ms / DAY)}d`;
}

const lastDay = (year: number, month: number): string =>
  new Date(Date.UTC(year, month + 1, 0)).toISOString().slice(0, 10);
