import { html, raw } from 'hono/html';
import { count } from '../format.ts';
import type { Html } from '../html-document.ts';
import { table } from './elements.ts';

interface Bars {
  /** What the chart shows; the table below it has the numbers. */
  readonly label: string;
  /** Of the first column of the table. */
  readonly unit: string;
  /** The colour of each part of a bar, by its name. */
  readonly series: Readonly<Record<string, string>>;
  readonly columns: readonly { readonly name: string; readonly values: readonly number[] }[];
  /** Drawn as a dashed line. */
  readonly limit?: number;
  /** Another table of the page has the numbers. Default false. */
  readonly hasTable?: boolean;
}

const WIDTH = 10;
const HEIGHT = 100;
const GAP = 1.2;

/** Stacked bars in the order of the key, their scale at the side, and a table behind them. */
export function bars({ label, unit, series, columns, limit = 0, hasTable = false }: Bars): Html {
  const [names, colours] = [Object.keys(series), Object.values(series)];
  const sums = columns.map(({ values }) => values.reduce((sum, value) => sum + value, 0));
  const top = Math.max(...sums, limit, 1);
  const heightOf = (value: number) => (value / top) * (HEIGHT - 4);
  const drawn = columns.map(({ name, values }, place) => {
    let below = HEIGHT;
    const parts = values.map((value, index) => {
      const height = heightOf(value);
      below -= height;
      return value === 0
        ? ''
        : `<rect class="${colours[index]}" x="${(place * WIDTH + GAP).toFixed(1)}" y="${below.toFixed(1)}" width="${WIDTH - 2 * GAP}" height="${height.toFixed(1)}"/>`;
    });
    return html`<g><title>${name}: ${names.map((each, index) => `${count(values[index] ?? 0)} ${each}`).join(', ')}</title>${raw(parts.join(''))}</g>`;
  });
  const width = columns.length * WIDTH;
  const level = (HEIGHT - heightOf(limit)).toFixed(1);
  const line = limit > 0 ? raw(`<path class="limit" d="M0 ${level}H${width}"/>`) : '';
  return html`<p class="axis"><span>${count(top)}</span></p><svg class="bars" viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${label}; the table below has the numbers">${line}${drawn}</svg>
<p class="axis"><span>${columns[0]?.name}</span><span>${columns.at(-1)?.name}</span></p>
${chartKey(
  names.map((name, index) => ({
    colour: colours[index] ?? '',
    words: `${name} ${count(columns.reduce((sum, { values }) => sum + (values[index] ?? 0), 0))}`,
  })),
)}
${
  hasTable
    ? ''
    : html`<details><summary>As a table</summary>${table({
        caption: label,
        head: [unit, ...names, 'total'],
        right: [...names, 'total'].map((_, index) => index + 1),
        rows: columns.map(({ name, values }, place) => [name, ...values.map(count), count(sums[place] ?? 0)]).reverse(),
      })}</details>`
}`;
}

/** A part of a meter, and the class of its colour. Without a name, the key leaves it out. */
interface Share {
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
  const named = shown.filter(({ name }) => name !== '');
  const key = named.map(({ name, colour, value }) => ({ colour, words: `${name} ${count(value)}` }));
  return html`<svg class="meter" role="img" aria-label="${label}">${bars}</svg>${key.length > 0 ? chartKey(key) : ''}`;
}

/** What the colours mean. */
export const chartKey = (
  parts: readonly { readonly colour: string; readonly words: string }[],
  more: Html | string = '',
): Html =>
  html`<p class="key">${parts.map(
    ({ colour, words }) =>
      html`<span><svg aria-hidden="true"><rect class="${colour}" width="12" height="12" rx="2"/></svg>${words}</span>`,
  )}${more}</p>`;

const LINE = { width: 100, height: 34 };

/** A line from zero, broken where a value is not known; its last point takes the colour of `tone`. `label` says it in words. */
export function sparkline(
  values: readonly (number | null)[],
  { label, tone, top }: { label: string; tone: string; top: number },
): Html {
  const x = (place: number) => ((place * LINE.width) / Math.max(values.length - 1, 1)).toFixed(1);
  const y = (value: number) =>
    (LINE.height - 1 - (Math.min(value, top) / Math.max(top, 1)) * (LINE.height - 5)).toFixed(1);
  let isDrawing = false;
  let path = '';
  values.forEach((value, place) => {
    if (value !== null) path += `${isDrawing ? 'L' : 'M'}${x(place)} ${y(value)}`;
    isDrawing = value !== null;
  });
  const last = values.at(-1) ?? null;
  const end = last === null ? '' : `<path class="now" d="M${LINE.width} ${y(last)}h0"/>`;
  return html`<svg class="spark ${tone}" viewBox="0 0 ${LINE.width} ${LINE.height}" preserveAspectRatio="none" role="img" aria-label="${label}">${raw(
    `<path class="base" d="M0 ${LINE.height - 1}H${LINE.width}"/><path d="${path}"/>${end}`,
  )}</svg>`;
}
