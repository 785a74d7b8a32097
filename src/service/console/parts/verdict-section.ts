import { html } from 'hono/html';
import type { Html } from '../layout/html.ts';
import { icon } from '../layout/icons.ts';
import type { State } from './state.ts';

/** One sentence over all sources (the text of the state), and one line about the healthy ones it does not speak of. */
export interface Verdict extends State {
  readonly rest: string;
}

/** The sentence that a page begins with. `actions`: what can be pressed, at its right. */
export const verdictSection = ({ icon: shape, tone, text, rest }: Verdict, actions: Html | string = ''): Html =>
  html`<section class="verdict" aria-label="Verdict" aria-live="polite">${icon(shape, tone)}<div><h1>${text}</h1>${rest === '' ? '' : html`<p class="soft">${rest}</p>`}</div>${actions}</section>`;
