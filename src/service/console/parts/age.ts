import { html } from 'hono/html';
import { moment, shortDuration } from '../../format.ts';
import type { Html } from '../layout/html.ts';

/** What ages are told by: when the page is made (epoch ms), and the zone in which people read its moments. */
export interface Now {
  readonly at: number;
  readonly timeZone: string;
}

/** A `<time>` with `text`; the exact moment and zone are in its title. `at` is in epoch milliseconds. */
export const timeElement = (at: number, timeZone: string, text: string): Html =>
  html`<time datetime="${new Date(at).toISOString()}" title="${moment(at, timeZone)} ${timeZone}">${text}</time>`;

/** `4 min`: how long ago it was, or how long it will take. */
export const age = (at: number, now: Now): Html => timeElement(at, now.timeZone, shortDuration(Math.abs(now.at - at)));

/** `4 min ago`, or `in 4 min`. */
export const ago = (at: number, now: Now): Html => {
  const text = shortDuration(Math.abs(now.at - at));
  return timeElement(at, now.timeZone, at > now.at ? `in ${text}` : `${text} ago`);
};

/** `13:02:20`. */
export const timeOfDay = (at: number, timeZone: string): Html =>
  timeElement(at, timeZone, moment(at, timeZone).slice(11));
