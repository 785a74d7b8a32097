import { html, raw } from 'hono/html';
import { moment, shortDuration } from '../format.ts';
import type { Badge, Verdict } from '../status/condition.ts';

const SECTIONS = [
  { path: '/', name: 'Overview' },
  { path: '/runs', name: 'Runs' },
  { path: '/data', name: 'Data' },
  { path: '/sql', name: 'SQL' },
] as const;

interface Page {
  /** Without the name of the product. */
  readonly title: string;
  /** The section it belongs to. */
  readonly section: (typeof SECTIONS)[number]['path'];
  /** As of when it is shown (epoch ms), and in which zone. */
  readonly at: number;
  readonly timeZone: string;
  readonly main: Html;
  /** It is a form, or the answer to one, so it is not loaded again by itself. Default false. */
  readonly isStill?: boolean;
}

export const documentOf = ({ title, section, at, timeZone, main, isStill = false }: Page): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Sluice</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/console.css">
<script src="/console.js" defer></script>
${isStill ? '' : html`<noscript><meta http-equiv="refresh" content="60"></noscript>`}
</head>
<body${isStill ? html` data-still` : ''}>
<a class="skip" href="#main">Skip to content</a>
${iconShapes()}
<header class="top"><a class="brand" href="/">Sluice</a><nav aria-label="Console">${SECTIONS.map(
  ({ path, name }) => html`<a href="${path}"${path === section ? html` aria-current="page"` : ''}>${name}</a>`,
)}</nav><p class="live">As of ${timeOfDay(at, timeZone)} ${timeZone}</p></header>
<main id="main">
${main}
</main>
</body>
</html>`;

/** A piece of a page whose values are escaped. */
export type Html = ReturnType<typeof html>;

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

/** A titled box. `note`: a few words at the right of its title. */
export const card = (title: string, body: Html | string | readonly (Html | string)[], note: Html | string = ''): Html =>
  html`<section class="card"><div class="head"><h2>${title}</h2>${note === '' ? '' : html`<span class="soft">${note}</span>`}</div>${body}</section>`;

/** Links of which one is the page that is shown. */
export const tabs = (
  label: string,
  links: readonly { readonly name: string; readonly path: string; readonly isCurrent: boolean }[],
): Html =>
  html`<nav class="tabs" aria-label="${label}">${links.map(
    ({ name, path, isCurrent }) => html`<a href="${path}"${isCurrent ? html` aria-current="true"` : ''}>${name}</a>`,
  )}</nav>`;

interface Table {
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

/** Names, and what stands beside each. */
export const facts = (list: readonly (readonly [name: Html | string, value: Html | string])[], style = 'kv'): Html =>
  html`<dl class="${style}">${list.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;

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

export const day = (name: string, label: string, value: string): Html =>
  html`<label class="field"><span>${label}</span><input type="date" name="${name}" value="${value}"></label>`;

/** A form that is one button. */
export const press = (action: string, label: string, csrf: Html): Html =>
  html`<form method="post" action="${action}">${csrf}<button class="">${label}</button></form>`;

/** A command within a sentence, as in `To migrate now: sluice migrate.` or `Run "sluice doctor" once.` */
const COMMAND = /(?::|\b[Rr]un) "?(sluice (?:[^";,.]|\.(?! |$))+)/g;

export const commandsIn = (text: string): string[] =>
  [...text.matchAll(COMMAND)].map(([, command = '']) => command.trim());

/** A sentence, and below it each command that it names, to be copied. A command that ends it after a colon is not said twice. */
export function nextStep(text: string): Html {
  const commands = commandsIn(text);
  const end = `: ${commands.at(-1)}`;
  const said = text.endsWith(end) ? text.slice(0, 1 - end.length) : text;
  return html`<p>${said}</p>${commands.map(commandBox)}`;
}

/** One click selects all of it; with scripts, a button copies it. */
export const commandBox = (command: string): Html =>
  html`<div class="cmd"><code>${command}</code><button type="button" data-copy hidden>Copy</button></div>`;

/** What ages are told by: when the page is made (epoch ms), and the zone in which people read its moments. */
export interface Now {
  readonly at: number;
  readonly timeZone: string;
}

/** A `<time>` with `text`; the exact moment and zone are in its title. `at` is in epoch milliseconds. */
export const timeElement = (at: number, timeZone: string, text: string): Html =>
  html`<time datetime="${new Date(at).toISOString()}" title="${moment(at, timeZone)} ${timeZone}">${text}</time>`;

/** `4 min`: how long ago it was, or how long it will take. */
export const age = (at: number, now: Now): Html => timeElement(at, now.timeZone, shortDuration(Math.abs(now.at - at)));

/** `4 min ago`, or `in 4 min`. */
export const ago = (at: number, now: Now): Html => {
  const text = shortDuration(Math.abs(now.at - at));
  return timeElement(at, now.timeZone, at > now.at ? `in ${text}` : `${text} ago`);
};

/** `13:02:20`. */
export const timeOfDay = (at: number, timeZone: string): Html =>
  timeElement(at, timeZone, moment(at, timeZone).slice(11));
