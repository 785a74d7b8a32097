import { html } from 'hono/html';
import { DAY, HOUR } from '../../clock.ts';
import { oldestOf } from '../../engine/coverage/list.ts';
import type { Entry } from '../../engine/slices/coverage-entry.ts';
import { moment, shortDuration } from '../format.ts';
import type { Html } from '../html-document.ts';
import { chartKey } from './charts.ts';
import type { Now } from './elements.ts';

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
  { at, timeZone }: Now,
): Html {
  const [resource, calendar] = [...calendars].find(([name]) => name === chosen) ?? [...calendars][0] ?? [];
  if (resource === undefined || calendar === undefined) return html`<p class="soft">No list is read by date yet.</p>`;
  const { years, earlier } = calendar;
  const tab = (name: string) =>
    html`<a href="/sources/${encodeURIComponent(source)}?months=${encodeURIComponent(name)}#months"${name === resource ? html` aria-current="true"` : ''}>${name}</a>`;
  /** `from` and `to`: its first and last day. */
  const cell = (proof: MonthProof, name: string, days: { readonly from?: string; readonly to: string }) => {
    if (proof === 'future') return html`<td></td>`;
    const ageMs = proof === 'never' ? null : at - proof;
    const colour = ageMs === null ? 'never' : (FADES.find(({ within }) => ageMs < within)?.colour ?? 'p4');
    const words =
      proof === 'never'
        ? 'never read in full'
        : `proven ${shortDuration(at - proof)} ago, at ${moment(proof, timeZone)} ${timeZone}`;
    return html`<td class="${colour}"><a href="/orders/new?${String(new URLSearchParams({ source, resource, ...days }))}" title="${name}: ${words}"><span class="sr">${name}: </span><span>${ageMs === null ? '–' : cellAge(ageMs)}</span></a></td>`;
  };
  const monthCell = (year: number, month: number, proof: MonthProof) =>
    cell(proof, `${MONTHS[month]} ${year}`, {
      from: new Date(Date.UTC(year, month)).toISOString().slice(0, 10),
      to: new Date(Date.UTC(year, month + 1, 0)).toISOString().slice(0, 10),
    });
  const firstYear = years.at(-1)?.year ?? 0;
  return html`<nav class="tabs" aria-label="Lists that are read by date">${[...calendars.keys()].map(tab)}</nav><table class="cal"><caption class="sr">${resource} by month: how long ago each was proven equal to the source</caption>
<thead><tr><td></td>${MONTHS.map(name => html`<th scope="col"><abbr title="${name}">${name.slice(0, 1)}<span class="m3">${name.slice(1, 3)}</span></abbr></th>`)}</tr></thead>
<tbody>${years.map(
    ({ year, months }) =>
      html`<tr><th scope="row">${year}</th>${months.map((proof, month) => monthCell(year, month, proof))}</tr>`,
  )}${
    earlier === null
      ? ''
      : html`<tr><th scope="row">earlier</th>${cell(earlier, `Before ${firstYear}`, { to: `${firstYear - 1}-12-31` })}</tr>`
  }</tbody></table>
${chartKey(FADES, html`<span>hatched: never read in full</span>`)}`;
}

/** `4m`, `3h`, `12d`: three characters, since twelve cells stand side by side on a phone. */
function cellAge(ms: number): string {
  if (ms < HOUR) return `${Math.max(Math.round(ms / 60_000), 0)}m`;
  if (ms < 2 * DAY) return `${Math.round(ms / HOUR)}h`;
  return `${Math.round(ms / DAY)}d`;
}

/** How a month is covered: proven equal at that moment (epoch ms), never read, or not there yet. */
type MonthProof = number | 'never' | 'future';

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
  const proofOf = (from: string, to: string) =>
    oldestOf(slices.filter(slice => slice.from <= to && slice.to >= from)) ?? 'never';
  const lastYear = Number(today.slice(0, 4));
  const bounds = slices.flatMap(({ from, to }) => [from, to]).filter(day => day !== '' && day <= today);
  const firstYear = Math.max(Number((bounds.sort()[0] ?? today).slice(0, 4)), lastYear - MOST_YEARS + 1);
  const years = Array.from({ length: lastYear - firstYear + 1 }, (_, back) => {
    const year = lastYear - back;
    const months = MONTHS.map((_, month): MonthProof => {
      const name = `${year}-${String(month + 1).padStart(2, '0')}`;
      return `${name}-01` > today ? 'future' : proofOf(`${name}-01`, `${name}-31`);
    });
    return { year, months };
  });
  const eve = `${firstYear - 1}-12-31`;
  return { years, earlier: slices.some(({ from }) => from <= eve) ? proofOf('', eve) : null };
}
