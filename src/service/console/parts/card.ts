import { html } from 'hono/html';
import type { Html } from '../layout/html.ts';

/** A titled box. `note`: a few words at the right of its title. */
export const card = (title: string, body: Html | string | readonly (Html | string)[], note: Html | string = ''): Html =>
  html`<section class="card"><div class="head"><h2>${title}</h2>${note === '' ? '' : html`<span class="soft">${note}</span>`}</div>${body}</section>`;
