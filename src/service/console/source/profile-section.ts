import { html } from 'hono/html';
import type { Html } from '../layout/html.ts';

/** What was observed of each list, one sentence a list. */
export const profileSection = (profile: readonly { readonly list: string; readonly words: string }[]): Html =>
  profile.length === 0
    ? html`<p class="soft">Nothing yet: the first answers tell.</p>`
    : html`<dl class="kv">${profile.map(({ list, words }) => html`<dt>${list === '' ? 'all lists' : list}</dt><dd>${words}</dd>`)}</dl>`;
