import { Hono } from 'hono';
import { html } from 'hono/html';
import { SluiceError } from '../../errors.ts';
import { formFields } from '../access/form-guard.ts';
import { count } from '../format.ts';
import type { Html } from '../html-document.ts';
import type { ServedSource } from '../status/served-source.ts';
import { type ConsoleParts, changeText, nowIn, refusable, refusalText, sourceOf } from './console-parts.ts';
import { card, documentOf, facts } from './elements.ts';

/** How much of the limit is left to other programs with the key? */
export const reserveRoutes = (parts: ConsoleParts): Hono =>
  new Hono()
    .get('/reserve/:source', async c => c.html(await reservePage(parts, sourceOf(parts, c))))
    .post('/reserve/:source', async c => {
      const source = sourceOf(parts, c);
      const { reserve = '' } = await formFields(c);
      const set = await refusable(() => parts.editor.setReserve(source.name, reserve.trim()));
      if (set instanceof SluiceError) return c.html(await reservePage(parts, source, { reserve, error: set }), 409);
      return c.redirect(pathOf(source), 303);
    });

const pathOf = ({ name }: ServedSource): string => `/reserve/${encodeURIComponent(name)}`;

async function reservePage(
  parts: ConsoleParts,
  source: ServedSource,
  refused: { readonly reserve: string; readonly error: SluiceError } | null = null,
): Promise<Html> {
  const { name } = source;
  const now = await nowIn(parts, source);
  const { limit, reserve, withheld, isNew } = await source.usage();
  const set = parts.editor.reserveOf(name);
  const isUnderWay = parts.editor.last?.isUnderWay === true;
  const form = isUnderWay
    ? ''
    : html`<p class="soft after">Requests an hour, a share of the limit, or both by hours of the day: <code>300</code>, <code>30%</code>, <code>8-18:300,10%</code>; <code>0</code> for none. Sluice also gives way to what others use beyond it, once an answer shows it.</p>
<form method="post" action="${pathOf(source)}" class="fields after"><label class="field"><span>Left to other programs</span><input type="text" name="reserve" required maxlength="200" value="${refused?.reserve ?? set ?? '0'}"></label><button>Set the reserve</button></form>`;
  const main = html`<p class="crumb"><a href="/">Overview</a> / <a href="/sources/${encodeURIComponent(name)}">${name}</a></p><h1>Requests for other programs</h1>
${card('The reserve', [
  facts([
    ['Set', set ?? 'nothing is left to others'],
    ['At this moment', `${count(reserve)} of ${count(limit + reserve)} requests a window`],
    ['Used by others', isNew ? 'not known yet' : `${count(withheld)} in this window`],
  ]),
  form,
  refusalText(parts, refused?.error),
  changeText(parts, page => isUnderWay || ('reserveOf' in page && page.reserveOf === name)),
])}`;
  return documentOf({ title: 'Requests for other programs', section: '/', ...now, main, isStill: !isUnderWay });
}
