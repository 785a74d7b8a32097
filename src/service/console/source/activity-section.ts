import { html } from 'hono/html';
import type { DayOfChanges, HourOfRequests } from '../../../warehouse/reports/activity.ts';
import { PURPOSES } from '../../../warehouse/reports/activity.ts';
import { count, moment } from '../../format.ts';
import type { Html } from '../layout/html.ts';
import { bars } from '../parts/bars.ts';

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
