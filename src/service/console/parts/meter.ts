import { html } from 'hono/html';
import type { Html } from '../layout/html.ts';

/** A part of a meter, and the class of its colour. Without a name, the key leaves it out. */
export interface Share {
  readonly name: string;
  readonly colour: string;
  readonly value: number;
}

/** Parts of a whole side by side, with a key beneath. `label` says all of it in words. */
export function meter(shares: readonly Share[], whole: number, label: string): Html {
  const shown = shares.filter(({ value }) => value > 0);
  const percent = (value: number) => `${Math.min((100 * value) / Math.max(whole, 1), 100).toFixed(1)}%`;
  let before = 0;
  const bars = shown.map(({ colour, value }) => {
    const bar = html`<rect class="${colour}" x="${percent(before)}" width="${percent(value)}" height="8"/>`;
    before += value;
    return bar;
  });
  const key = shown
    .filter(({ name }) => name !== '')
    .map(
      ({ name, colour, value }) =>
        html`<span><svg aria-hidden="true"><rect class="${colour}" width="12" height="12" rx="2"/></svg>${name} ${value.toLocaleString('en-US')}</span>`,
    );
  return html`<svg class="meter" role="img" aria-label="${label}">${bars}</svg>${key.length > 0 ? html`<p class="key">${key}</p>` : ''}`;
}
