import { Hono } from 'hono';
import { html } from 'hono/html';
import { stampMs } from '../../clock.ts';
import { dayIn, monthBefore } from '../../engine/slices/date-windows.ts';
import { SluiceError } from '../../errors.ts';
import {
  countRestatements,
  type Restatement,
  readRestatements,
  readSeals,
  type Seal,
} from '../../warehouse/rows/seals.ts';
import { formFields } from '../access/form-guard.ts';
import { count, plural, sumsText, valueText } from '../format.ts';
import type { Html } from '../html-document.ts';
import { closeMonth } from '../orders/close-month.ts';
import type { ServedSource } from '../status/served-source.ts';
import { type ConsoleParts, nowIn, refusable, refusalText, sourceOf } from './console-parts.ts';
import { ago, card, documentOf, facts, hidden, type Now, table } from './elements.ts';
import { recordPath } from './record-page.ts';

/** More rows of a month are not listed. */
const MOST_RESTATED = 100;

export const closedMonthRoutes = (parts: ConsoleParts): Hono =>
  new Hono()
    .get('/months/:source', async c => c.html(await monthsPage(parts, sourceOf(parts, c))))
    .post('/months/:source', async c => {
      const source = sourceOf(parts, c);
      const { month = '', again } = await formFields(c);
      const closed = await refusable(() => closeMonth(parts.database, source, month, { again: again === 'yes' }));
      if (closed instanceof SluiceError)
        return c.html(await monthsPage(parts, source, { month, trouble: closed }), 409);
      return c.redirect(pathOf(source.name), 303);
    });

const pathOf = (source: string): string => `/months/${encodeURIComponent(source)}`;

async function monthsPage(
  parts: ConsoleParts,
  source: ServedSource,
  refused: { readonly month: string; readonly trouble: SluiceError } | null = null,
): Promise<Html> {
  const { kysely } = parts.database;
  const now = await nowIn(parts, source);
  const seals = await readSeals(kysely, source.name);
  const counts = await countRestatements(kysely, source.name, { isExact: true });
  const closed: Html[] = [];
  for (const seal of seals) {
    const changed = counts.reduce(
      (sum, each) => sum + (each.month === seal.month ? each.added + each.changed + each.deleted : 0),
      0,
    );
    const restated =
      changed === 0 ? [] : await readRestatements(kysely, source.name, { month: seal.month, most: MOST_RESTATED });
    closed.push(monthCard(parts, source, { ...seal, changed }, restated, now));
  }
  const month = refused?.month ?? monthBefore(dayIn(now.at, source.timeZone), 1);
  const form = html`<p class="soft">Keeps the rows of a month as they are now, with sums and a digest. Later changes to it are shown here, and as an incident.</p>
<form method="post" action="${pathOf(source.name)}" class="fields"><label class="field"><span>Month</span><input type="month" name="month" value="${month}" required></label><button>Close</button></form>
${refusalText(parts, refused?.trouble)}`;
  const main = html`<p class="crumb"><a href="/data">Data</a> / ${source.name}</p><h1>Closed months</h1>
${card('Close a month', form)}
${closed}`;
  return documentOf({ title: 'Closed months', section: '/data', ...now, main, isStill: true });
}

function monthCard(
  parts: ConsoleParts,
  { name: source }: ServedSource,
  { month, sealedAt, digest, lists, changed }: Seal & { readonly changed: number },
  restated: readonly Restatement[],
  now: Now,
): Html {
  const again = html`<form method="post" action="${pathOf(source)}" class="after">${hidden({ month, again: 'yes' })}<button>Accept and close again</button></form>`;
  const changes =
    restated.length === 0
      ? html`<p class="after">Nothing has changed since.</p>`
      : html`${table({
          caption: `Rows of ${month} that changed since`,
          head: ['row', 'what', 'before', 'now'],
          right: [],
          rows: restated.flatMap(each => restatementRows(parts, source, each)),
        })}${changed > restated.length ? html`<p class="soft">and more: <code>select * from restatements</code></p>` : ''}${again}`;
  return card(
    month,
    [
      table({
        caption: `Lists of ${month}`,
        head: ['list', 'rows', 'sums'],
        right: [1],
        rows: lists.map(({ resource, rows, sums }) => [resource, count(rows), sumsText(sums)]),
      }),
      html`<div class="after">${facts([['SHA-256', html`<code>${digest}</code>`]])}</div>`,
      changes,
    ],
    html`closed ${ago(stampMs(sealedAt), now)}${changed > 0 ? `, ${plural(changed, 'row')} changed since` : ''}`,
  );
}

/** One for each field of a changed row. */
function restatementRows(
  parts: ConsoleParts,
  source: string,
  { resource, key, kind, before, after }: Restatement,
): (string | Html)[][] {
  const row = html`<a href="${recordPath(parts, source, resource, key)}">${resource} ${key}</a>`;
  if (kind !== 'changed') return [[row, kind, '', '']];
  return Object.keys(before ?? {}).map(field => [row, field, valueText(before?.[field]), valueText(after?.[field])]);
}
