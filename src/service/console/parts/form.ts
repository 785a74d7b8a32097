import { html } from 'hono/html';
import type { Html } from '../layout/html.ts';

/** A labelled choice; the empty value is shown as `none`. */
export const choice = (
  name: string,
  label: string,
  values: readonly string[],
  chosen: string,
  none = '',
  words: (value: string) => string = value => value,
): Html =>
  html`<label class="field"><span>${label}</span><select name="${name}">${values.map(
    value =>
      html`<option value="${value}"${value === chosen ? html` selected` : ''}>${value === '' ? none : words(value)}</option>`,
  )}</select></label>`;

/** A labelled day. */
export const day = (name: string, label: string, value: string): Html =>
  html`<label class="field"><span>${label}</span><input type="date" name="${name}" value="${value}"></label>`;

/** A form that is one button. */
export const press = (action: string, label: string, csrf: Html, kind = ''): Html =>
  html`<form method="post" action="${action}">${csrf}<button class="${kind}">${label}</button></form>`;
