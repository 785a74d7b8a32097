import { html } from 'hono/html';
import type { Html } from '../layout/html.ts';

/** A command to copy: one click selects all of it. Words do not break. */
export const command = (text: string): Html =>
  html`<div class="cmd"><code>${text.split(' ').map((word, index) => html`${index > 0 ? ' ' : ''}<span>${word}</span>`)}</code><button type="button" data-copy hidden>Copy</button></div>`;
