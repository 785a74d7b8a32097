import { html } from 'hono/html';
import { SECOND } from '../../../clock.ts';
import { type DayOfChanges, type HourOfRequests, PURPOSES } from '../../../warehouse/reports/activity.ts';
import { count, durationText, moment, plural, shortDuration } from '../../format.ts';
import type { ShownAgenda } from '../../status/next-questions.ts';
import { bars } from '../charts.ts';
import type { Html } from '../elements.ts';

export function changesChart(days: readonly DayOfChanges[]): Html {
  return bars({
    label: 'Rows changed each day',
    unit: 'day',
    series: [
      { name: 'new', colour: 'q1' },
      { name: 'changed', colour: 'q3' },
      { name: 'deleted', colour: 'q5' },
    ],
    columns: days.map(({ day, inserted, updated, deleted }) => ({ name: day, values: [inserted, updated, deleted] })),
  });
}

/** What each purpose is called, and its colour. */
const NAMES: Readonly<Record<(typeof PURPOSES)[number], { name: string; colour: string }>> = {
  newest: { name: 'newest rows', colour: 'q1' },
  open: { name: 'open items', colour: 'q2' },
  older: { name: 'older parts', colour: 'q3' },
  single: { name: 'single rows', colour: 'q4' },
  backfill: { name: 'backfill', colour: 'q5' },
  verify: { name: 'verify', colour: 'q6' },
};

export function requestsChart(hours: readonly HourOfRequests[], limit: number, timeZone: string): Html {
  const all = hours.reduce((sum, hour) => sum + PURPOSES.reduce((of, name) => of + hour[name], 0), 0);
  return html`<p class="soft">${count(all)} requests; dashed: the ${count(Math.floor(limit))} that the source allows in an hour.</p>${bars(
    {
      label: 'Requests of each hour by purpose',
      unit: 'hour',
      series: PURPOSES.map(name => NAMES[name]),
      columns: hours.map(hour => ({
        name: moment(hour.at, timeZone).slice(11, 16),
        values: PURPOSES.map(name => hour[name]),
      })),
      limit,
    },
  )}`;
}

/** What is asked next, and why. `secondsPerRequest`: at the pace of the limit. */
export function agendaSection({ questions, unread }: ShownAgenda, secondsPerRequest: number): Html {
  if (questions.length === 0)
    return html`<p class="soft">Nothing yet: the agenda lists what was read in full at least once.</p>`;
  let before = 0;
  const rows = questions.map(question => {
    const row = questionRow(question, before * secondsPerRequest);
    before += question.requests;
    return row;
  });
  return html`<table><caption class="sr">The next questions</caption><thead><tr><th scope="col" class="num">in</th><th scope="col">question, and why</th><th scope="col" class="num">cost</th></tr></thead>
<tbody>${rows}</tbody></table>${unread.length > 0 ? html`<p class="soft after">Never read in full: ${unread.join(', ')}.</p>` : ''}`;
}

function questionRow(
  { resource, question, requests, ageSeconds, changesAnHour, why }: ShownAgenda['questions'][number],
  inSeconds: number,
): Html {
  const rate = changesAnHour >= 0.1 ? `; ${changesAnHour.toFixed(1)} changes an hour` : '';
  return html`<tr><td class="soft num">${inSeconds < 1 ? 'now' : shortDuration(inSeconds * SECOND)}</td>
<td><b>${resource}: ${question}</b><br><span class="soft">${why}; last asked ${durationText(ageSeconds)} ago${rate}</span></td>
<td class="num">${plural(Math.round(requests), 'request')}</td></tr>`;
}

/** `8 of 1,204 questions`. */
export const agendaNote = ({ questions, more }: ShownAgenda): string =>
  `${count(questions.length)} of ${plural(questions.length + more, 'question')}`;
