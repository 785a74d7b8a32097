import { html } from 'hono/html';
import type { Html } from '../layout/html.ts';
import { type Icon, icon } from '../layout/icons.ts';

export type Tone = 'good' | 'busy' | 'warn' | 'bad';

/** A state: a shape, a word, then a colour. */
export interface State {
  readonly icon: Icon;
  readonly tone: Tone | '';
  readonly text: string;
}

export const stateBadge = ({ icon: shape, tone, text }: State): Html =>
  html`<span class="state ${tone}">${icon(shape)}${text}</span>`;
