import { html } from 'hono/html';
import { DAY, HOUR } from '../../../clock.ts';
import type { Entry } from '../../../engine/slices/coverage-entry.ts';
import { moment, shortDuration } from '../../format.ts';
import { type Html, type Now, tabs } from '../elements.ts';

const MONTHS = Array.from({ length: 12 }, (_, month) =>
  new Date(Date.UTC(2000, month)).toLocaleString('en', { month: 'long', timeZone: 'UTC' }),
);

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

/** How a month is covered: proven equal at that moment (epoch ms), never read, or not there yet. */
export type MonthProof = number | 'never' | 'future';

export interface Calendar {
  /** The newest year first; `months` are January to December. */
  readonly years: readonly { readonly year: number; readonly months: readonly MonthProof[] }[];
  /** Everything before the first of these years; null where nothing precedes it. */
  readonly earlier: Exclude<MonthProof, 'future'> | null;
}

/** Years drawn; those before them are one line. */
const MOST_YEARS = 10;

/**
 * When each month of a list was last proven equal: as of the oldest proof among the slices that hold a part of it. Null where the list is not
 * read by date. `today`: `2026-01-31`.
 */
export function calendarOf(entries: readonly Entry[], today: string): Calendar | null {
  const slices = entries.flatMap(({ slice, provenAt }) =>
    slice.by === 'date' ? [{ from: slice.from ?? '', to: slice.to ?? '9999-12-31', provenAt }] : [],
  );
  if (slices.length === 0) return null;
  const proofOf = (from: string, to: string) => {
    const held = slices.filter(slice => slice.from <= to && slice.to >= from);
    const proofs = held.map(({ provenAt }) => provenAt);
    return proofs.length === 0 || proofs.includes(null) ? 'never' : Math.min(...(proofs as number[]));
  };
  const lastYear = Number(today.slice(0, 4));
  const bounds = slices.flatMap(({ from, to }) => [from, to]).filter(day => day !== '' && day <= today);
  const firstBound = bounds.sort()[0];
  const firstYear = Math.max(
    firstBound === undefined ? lastYear : Number(firstBound.slice(0, 4)),
    lastYear - MOST_YEARS + 1,
  );
  const years = [];
  for (let year = lastYear; year >= firstYear; year--) {
    const months: MonthProof[] = [];
    for (let month = 1; month <= 12; month++) {
      const name = `${year}-${String(month).padStart(2, '0')}`;
      months.push(`${name}-01` > today ? 'future' : proofOf(`${name}-01`, `${name}-31`));
    }
    years.push({ year, months });
  }
  const eve = `${firstYear - 1}-12-31`;
  return { years, earlier: slices.some(({ from }) => from <= eve) ? proofOf('', eve) : null };
}
