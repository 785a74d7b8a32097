import { html } from 'hono/html';
import type { Html } from '../layout/html.ts';

export interface Table {
  /** Says what the table holds; for screen readers. */
  readonly caption: string;
  readonly head: readonly string[];
  /** Columns that hold numbers. */
  readonly right: readonly number[];
  /** The first cell names the row. */
  readonly rows: readonly (readonly (string | Html)[])[];
}

/** A table that scrolls by itself where it is wider than the screen. */
export function table({ caption, head, right, rows }: Table): Html {
  const side = (column: number) => (right.includes(column) ? 'num' : '');
  const row = ([name = '', ...cells]: readonly (string | Html)[]) =>
    html`<tr><th scope="row">${name}</th>${cells.map((cell, index) => html`<td class="${side(index + 1)}">${cell}</td>`)}</tr>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table><caption class="sr">${caption}</caption>
<thead><tr>${head.map((cell, column) => html`<th scope="col" class="${side(column)}">${cell}</th>`)}</tr></thead>
<tbody>${rows.map(row)}</tbody></table></div>`;
}
