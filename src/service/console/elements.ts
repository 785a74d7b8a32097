import { html, raw } from 'hono/html';
import { moment, shortDuration } from '../format.ts';
import { type Html, htmlDocument } from '../html-document.ts';

const SECTIONS = { '/': 'Overview', '/runs': 'Runs', '/data': 'Data', '/sql': 'SQL' } as const;

interface Page extends Now {
  /** Without the name of the product. */
  readonly title: string;
  /** The section it belongs to. */
  readonly section: keyof typeof SECTIONS;
  readonly main: Html;
  /** It is a form, or the answer to one, so it is not loaded again by itself. Default false. */
  readonly isStill?: boolean;
}

export const documentOf = ({ title, section, at, timeZone, main, isStill = false }: Page): Html =>
  htmlDocument({
    title,
    main,
    isStill,
    head: html`<script src="/console.js" defer></script>
${isStill ? '' : html`<noscript><meta http-equiv="refresh" content="60"></noscript>`}`,
    above: html`<a class="skip" href="#main">Skip to content</a>
<svg hidden>${Object.entries(SHAPES).map(([id, shape]) => raw(`<symbol id="${id}" viewBox="0 0 16 16">${shape}</symbol>`))}</svg>`,
    bar: html`<nav aria-label="Console">${Object.entries(SECTIONS).map(
      ([path, name]) => html`<a href="${path}"${path === section ? html` aria-current="page"` : ''}>${name}</a>`,
    )}</nav><p class="live">As of ${timeOfDay(at, timeZone)} ${timeZone}</p>`,
  });

/** Shapes of 16 x 16, drawn in the colour of their text. Defined once a page; `icon` refers to them. */
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

const TONES: Partial<Record<Icon, string>> = { ok: 'good', bad: 'bad', warn: 'warn', busy: 'busy' };

/** The class that colours a shape and what belongs to it. */
export const toneOf = (name: Icon): string => TONES[name] ?? '';

/** Silent: a word stands beside each icon. */
export const icon = (name: Icon, tone = toneOf(name)): Html =>
  html`<svg class="i ${tone}" aria-hidden="true"><use href="#${name}"/></svg>`;

/** A state as people see it: a shape, a word, then a colour. */
export interface Shown {
  readonly icon: Icon;
  readonly text: string;
}

export const badge = ({ icon: shape, text }: Shown): Html =>
  html`<span class="state ${toneOf(shape)}">${icon(shape, '')}${text}</span>`;

/** The sentence that a page begins with, and what follows from it. */
export const verdictSection = (
  { icon: shape, text, rest }: Shown & { readonly rest: Html | string },
  label = 'Verdict',
): Html =>
  html`<section class="verdict" aria-label="${label}" aria-live="polite">${icon(shape)}<div><h1>${text}</h1>${typeof rest === 'string' && rest !== '' ? html`<p class="soft">${rest}</p>` : rest}</div></section>`;

/** A titled box. `note`: a few words at the right of its title. */
export const card = (title: string, body: Html | string | readonly (Html | string)[], note: Html | string = ''): Html =>
  html`<section class="card"><div class="head"><h2>${title}</h2>${note === '' ? '' : html`<span class="soft">${note}</span>`}</div>${body}</section>`;

interface Table {
  /** Says what the table holds; for screen readers. */
  readonly caption: string;
  readonly head: readonly string[];
  /** Columns that hold numbers. */
  readonly right: readonly number[];
  /** The first cell names the row. */
  readonly rows: readonly (readonly (string | Html)[])[];
  /** On a phone, a row is a block whose cells have labels (default: the head); its last cell is a state. Zeros of `faint` are left out there. */
  readonly stack?: { readonly labels?: readonly string[]; readonly faint?: readonly number[] };
}

/** A table that scrolls by itself, or stacks its cells, where it is wider than the screen. */
export function table({ caption, head, right, rows, stack }: Table): Html {
  const isLast = (column: number) => stack !== undefined && column === head.length - 1;
  const classOf = (column: number) => (isLast(column) ? 'last' : right.includes(column) ? 'num' : '');
  const faint = (cell: string | Html, column: number) => (cell === '0' && stack?.faint?.includes(column) ? ' nil' : '');
  const label = (column: number) =>
    stack === undefined || isLast(column) ? '' : html` data-l="${(stack.labels ?? head)[column]}"`;
  const row = ([name = '', ...cells]: readonly (string | Html)[]) =>
    html`<tr><th scope="row">${name}</th>${cells.map((cell, index) => html`<td class="${classOf(index + 1)}${faint(cell, index + 1)}"${label(index + 1)}>${cell}</td>`)}</tr>`;
  const body = html`<caption class="sr">${caption}</caption>
<thead><tr>${head.map((cell, column) => html`<th scope="col" class="${classOf(column)}">${cell}</th>`)}</tr></thead>
<tbody>${rows.map(row)}</tbody></table>`;
  return stack === undefined
    ? html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table>${body}</div>`
    : html`<table class="stack">${body}`;
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

/** The source that a form is about; without a choice where there is only one. */
export const sourceField = (sources: readonly { readonly name: string }[], chosen: string): Html | Html[] =>
  sources.length > 1
    ? choice(
        'source',
        'Source',
        sources.map(({ name }) => name),
        chosen,
      )
    : hidden({ source: chosen });

/** What a form sends beside what people fill in. */
export const hidden = (fields: Readonly<Record<string, string>>): Html[] =>
  Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`);

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

/** `4 min ago`, or `in 4 min`. */
export const ago = (at: number, now: Now): Html => {
  const text = shortDuration(Math.abs(now.at - at));
  return timeElement(at, now.timeZone, at > now.at ? `in ${text}` : `${text} ago`);
};

/** `13:02:20`. */
export const timeOfDay = (at: number, timeZone: string): Html =>
  timeElement(at, timeZone, moment(at, timeZone).slice(11));

/** `2026-01-15 13:02:20`, and how long ago. */
export const momentAndAge = (at: number, now: Now): Html =>
  html`${moment(at, now.timeZone)} <span class="soft">${ago(at, now)}</span>`;
