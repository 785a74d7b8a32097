import { html, raw } from 'hono/html';
import type { Badge, Verdict } from '../../status/condition.ts';
import type { Html } from './html.ts';

/** Shapes of 16 x 16, drawn in the colour of their text. */
const SHAPES = {
  ok: '<path fill="currentColor" d="M8 0a8 8 0 1 1 0 16A8 8 0 0 1 8 0Zm3.2 4.9-4.3 4.4-2-2-1.2 1.2 3.2 3.2 5.5-5.6-1.2-1.2Z"/>',
  bad: '<path fill="currentColor" d="M8 .8c.5 0 1 .3 1.3.8l6.3 11.3c.5 1-.2 2.3-1.3 2.3H1.700c-1.100 0-1.8-1.3-1.3-2.3L6.700 1.600C7 1.100 7.5.8 8 .8ZM7 5v5h2V5H7Zm0 6.3v2h2v-2H7Z"/>',
  warn: '<path fill="currentColor" d="m8 0 8 8-8 8-8-8 8-8ZM7 4v5h2V4H7Zm0 6v2h2v-2H7Z"/>',
  wait: '<path fill="none" stroke="currentColor" stroke-width="1.8" d="M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1Zm0 3v4.2l3 1.8"/>',
  busy: '<path fill="none" stroke="currentColor" stroke-width="1.8" stroke-dasharray="3 2.5" d="M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1Z"/><path fill="currentColor" d="M8 5a3 3 0 1 1 0 6 3 3 0 0 1 0-6Z"/>',
  off: '<path fill="none" stroke="currentColor" stroke-width="1.8" d="M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1ZM4.5 8h7"/>',
  new: '<path fill="none" stroke="currentColor" stroke-width="1.8" d="M8 3v10M3 8h10"/>',
  edit: '<path fill="none" stroke="currentColor" stroke-width="1.8" d="M2 6h12M2 10h12"/>',
  gone: '<path fill="none" stroke="currentColor" stroke-width="1.8" d="m4 4 8 8M12 4l-8 8"/>',
} as const;

export type Icon = keyof typeof SHAPES;

/** Defined once a page; `icon` refers to them. */
export const iconShapes = (): Html =>
  html`<svg hidden>${Object.entries(SHAPES).map(([id, shape]) =>
    raw(`<symbol id="${id}" viewBox="0 0 16 16">${shape}</symbol>`),
  )}</svg>`;

/** Silent: a word stands beside each icon. `tone`: a class that colours it. */
export const icon = (name: Icon, tone = ''): Html =>
  html`<svg class="i ${tone}" aria-hidden="true"><use href="#${name}"/></svg>`;

export const badge = ({ icon: shape, tone, text }: Badge): Html =>
  html`<span class="state ${tone}">${icon(shape)}${text}</span>`;

/** The sentence that a page begins with. */
export const verdictSection = ({ icon: shape, tone, text, rest }: Verdict): Html =>
  html`<section class="verdict" aria-label="Verdict" aria-live="polite">${icon(shape, tone)}<div><h1>${text}</h1>${rest === '' ? '' : html`<p class="soft">${rest}</p>`}</div></section>`;
