import { html } from 'hono/html';
import { plural } from '../../format.ts';
import type { QueryResult } from '../../query/bounded-query.ts';
import { COOKBOOK, type Recipe } from '../../query/cookbook.ts';
import { NUMBERS } from '../../query/numbers.ts';
import { bars } from '../charts.ts';
import { documentOf } from '../document.ts';
import { ago, choice, type Html, type Now, table } from '../elements.ts';

export interface SqlShown {
  readonly sources: readonly string[];
  readonly source: string;
  readonly query: string;
  /** The column that is drawn; `none`: no chart; empty: the first that can be. */
  readonly chart: string;
  readonly result: QueryResult | null;
  /** Why there is no result, and what to do. */
  readonly trouble: { readonly message: string; readonly next: string | undefined } | null;
  /** The tick up to which the source was read (epoch ms); null before the first. */
  readonly upToDateAt: number | null;
  readonly mostRows: number;
  readonly csrf: Html;
}

/** What does the data say, and how fresh is that answer? */
export function sqlPage(shown: SqlShown, now: Now): Html {
  const { sources, source, query, result, trouble, mostRows, csrf } = shown;
  const columns = result === null ? [] : chartable(result);
  const main = html`<form method="post" action="/sql" class="grid side">${csrf}
<div class="col">
<section class="card"><div class="head"><h1 class="h2"><label for="query">Query</label></h1>${sources.length > 1 ? choice('source', 'Source', sources, source) : html`<input type="hidden" name="source" value="${source}">`}</div>
<textarea id="query" name="query" rows="8" spellcheck="false" autocapitalize="off" data-submit>${query}</textarea>
<div class="row after"><button class="main" name="do" value="run">Run</button><button name="do" value="csv">Download CSV</button>${columns.length > 0 ? choice('chart', 'Chart', [...columns, 'none'], chosen(shown.chart, columns)) : ''}</div>
<p class="soft after">Read-only, at most 10 seconds and ${plural(mostRows, 'row')}. Ctrl and Enter runs it.</p></section>
${trouble === null ? '' : html`<section class="card" aria-label="Error"><p class="bad" role="alert">${trouble.message}</p>${trouble.next === undefined ? '' : html`<p>${trouble.next}</p>`}</section>`}
${result === null ? '' : resultCard(result, shown, columns, now)}
</div>
<aside class="card" aria-label="Cookbook"><div class="head"><h2>Cookbook</h2></div>${cookbook(query)}</aside>
</form>`;
  return documentOf({ title: 'SQL', section: '/sql', ...now, main, isStill: true });
}

const chosen = (asked: string, columns: readonly string[]): string =>
  asked === 'none' || columns.includes(asked) ? asked : (columns[0] ?? 'none');

function resultCard(
  result: QueryResult,
  { chart, upToDateAt, source }: SqlShown,
  drawable: readonly string[],
  now: Now,
): Html {
  const { columns, rows, isCut, ms } = result;
  const head = isCut ? `The first ${plural(rows.length, 'row')}` : plural(rows.length, 'row');
  const drawn = chosen(chart, drawable);
  const fresh = upToDateAt === null ? '' : html`${source} up to date as of ${ago(upToDateAt, now)}`;
  return html`<section class="card" aria-label="Result"><div class="head"><h2>${head} in ${ms} ms</h2><span class="soft">${fresh}</span></div>
${drawn === 'none' ? '' : html`<figure>${resultChart(result, drawn)}</figure>`}
${
  columns.length === 0
    ? html`<p>The query returned no columns.</p>`
    : table({
        caption: 'Result of the query',
        head: columns.map(({ name }) => name),
        right: columns.flatMap(({ oid }, place) => (place > 0 && NUMBERS.has(oid) ? [place] : [])),
        rows: rows.map(row => row.map(cell => cell ?? html`<span class="soft">null</span>`)),
      })
}</section>`;
}

function cookbook(query: string): Html[] {
  const groups = [...new Set(COOKBOOK.map(({ group }) => group))];
  return groups.map(
    group =>
      html`<h3 class="soft after">${group}</h3><ul class="picks">${COOKBOOK.filter(each => each.group === group).map(recipe => pick(recipe, query))}</ul>`,
  );
}

const pick = ({ question, sql }: Recipe, query: string): Html =>
  html`<li><button name="recipe" value="${question}"${sql === query ? html` aria-current="true"` : ''}>${question}</button></li>`;

/** More bars than this cannot be told apart. */
const MOST_BARS = 60;

/** The columns that can be drawn over the first one: numbers, none of them negative. */
export function chartable({ columns, rows }: QueryResult): string[] {
  if (rows.length < 2 || rows.length > MOST_BARS) return [];
  return columns
    .filter((column, place) => place > 0 && NUMBERS.has(column.oid))
    .filter(column => rows.every(row => Number(row[columns.indexOf(column)] ?? 0) >= 0))
    .map(({ name }) => name);
}

/** One column of the result as bars over the first one. */
export function resultChart({ columns, rows }: QueryResult, column: string): Html {
  const place = columns.findIndex(({ name }) => name === column);
  return bars({
    label: `${column} by ${columns[0]?.name ?? ''}`,
    unit: columns[0]?.name ?? '',
    series: [{ name: column, colour: 'q1' }],
    columns: rows.map(row => ({ name: row[0] ?? 'null', values: [Number(row[place] ?? 0)] })),
    hasTable: true,
  });
}
