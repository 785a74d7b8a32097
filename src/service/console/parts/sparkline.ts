import { html, raw } from 'hono/html';
import type { Html } from '../layout/html.ts';

const WIDTH = 100;
const HEIGHT = 34;

/** A line from zero, broken where a value is not known; its last point takes the colour of `tone`. `label` says it in words. */
export function sparkline(
  values: readonly (number | null)[],
  { label, tone, top }: { label: string; tone: string; top: number },
): Html {
  const x = (place: number) => ((place * WIDTH) / Math.max(values.length - 1, 1)).toFixed(1);
  const y = (value: number) => (HEIGHT - 1 - (Math.min(value, top) / Math.max(top, 1)) * (HEIGHT - 5)).toFixed(1);
  let isDrawing = false;
  let path = '';
  values.forEach((value, place) => {
    if (value !== null) path += `${isDrawing ? 'L' : 'M'}${x(place)} ${y(value)}`;
    isDrawing = value !== null;
  });
  const last = values.at(-1) ?? null;
  const end = last === null ? '' : `<path class="now" d="M${WIDTH} ${y(last)}h0"/>`;
  return html`<svg class="spark ${tone}" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${label}">${raw(
    `<path class="base" d="M0 ${HEIGHT - 1}H${WIDTH}"/><path d="${path}"/>${end}`,
  )}</svg>`;
}
