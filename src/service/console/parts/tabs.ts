import { html } from 'hono/html';
import type { Html } from '../layout/html.ts';

/** Links of which one is the page that is shown. */
export const tabs = (
  label: string,
  links: readonly { readonly name: string; readonly path: string; readonly isCurrent: boolean }[],
): Html =>
  html`<nav class="tabs" aria-label="${label}">${links.map(
    ({ name, path, isCurrent }) => html`<a href="${path}"${isCurrent ? html` aria-current="true"` : ''}>${name}</a>`,
  )}</nav>`;
