import { type Context, Hono } from 'hono';
import { html } from 'hono/html';
import { HOUR, MINUTE, SECOND } from '../../clock.ts';
import { groupBy } from '../../engine/group-by.ts';
import { type ColumnOfTable, listColumns } from '../../warehouse/reports/data-tables.ts';
import { NUMBERS } from '../../warehouse/reports/read-query.ts';
import { formFields } from '../access/form-guard.ts';
import { answerProgram, isOfQuery } from '../answers/answer-program.ts';
import { ageText, type Freshness, MOST_WAIT_S } from '../answers/fresh-query.ts';
import { type Answer, createQueries } from '../answers/queries.ts';
import { plural } from '../format.ts';
import type { Html } from '../html-document.ts';
import { MOST_REQUESTS } from '../orders/refresh.ts';
import type { QueryResult } from '../query/bounded-query.ts';
import { COOKBOOK } from '../query/cookbook.ts';
import { csvSafe } from '../query/csv.ts';
import type { ServedSource } from '../status/served-source.ts';
import { bars } from './charts.ts';
import { type ConsoleParts, nowIn, sourceNamed } from './console-parts.ts';
import { choice, documentOf, sourceField, table } from './elements.ts';
import { historyAmong, queryPath } from './tables.ts';

const MOST_ROWS = 1000;
const MOST_CSV_ROWS = 100_000;
export function sqlRoutes(parts: ConsoleParts): Hono {
  const run = createQueries(parts);
  return new Hono()
    .post('/query', c => answerProgram(c, parts.sources, run, parts.hide))
    .get('/sql', async c => show(parts, c, { query: c.req.query('query') ?? '', source: c.req.query('source') }))
    .post('/sql', async c => {
      const { recipe, chart, source, age, do: action, ...fields } = await formFields(c);
      const query = COOKBOOK.find(({ question }) => question === recipe)?.sql ?? (fields.query ?? '').trim();
      const asked = { query, source, chart, age };
      if (query === '') return show(parts, c, asked);
      const { schema = '' } = sourceOrFirst(parts, asked.source) ?? {};
      const isCsv = action === 'csv' && !recipe;
      try {
        const most = isCsv ? MOST_CSV_ROWS : MOST_ROWS;
        const answer = await run({ query, schema, most, freshness: freshnessOf(age), signal: c.req.raw.signal });
        return isCsv ? download(c, answer.result) : await show(parts, c, { ...asked, answer });
      } catch (error) {
        if (!isOfQuery(error)) throw error;
        const trouble = { message: parts.hide(error.message), next: error.next && parts.hide(error.next) };
        return show(parts, c, { ...asked, trouble });
      }
    });
}

const sourceOrFirst = (parts: ConsoleParts, name: string | undefined) => sourceNamed(parts, name) ?? parts.sources[0];

/** How old an answer may be. */
const AGES = { any: null, now: 0, '1 minute': MINUTE, '5 minutes': 5 * MINUTE, '1 hour': HOUR } as const;

function freshnessOf(age = 'any'): Freshness | null {
  const maxAgeMs = Object.hasOwn(AGES, age) ? AGES[age as keyof typeof AGES] : null;
  return maxAgeMs === null ? null : { maxAgeMs, mostRequests: MOST_REQUESTS, waitMs: MOST_WAIT_S * SECOND };
}

interface Asked {
  readonly query: string;
  readonly source: string | undefined;
  /** The column that is drawn; `none`: no chart; empty: the first that can be. */
  readonly chart?: string | undefined;
  readonly age?: string | undefined;
  readonly answer?: Answer;
  /** Why there is no result, and what to do. */
  readonly trouble?: { readonly message: string; readonly next: string | undefined };
}

/** What does the data say, and how fresh is that answer? */
async function show(
  parts: ConsoleParts,
  c: Context,
  { query, answer, trouble, chart = '', age = 'any', ...asked }: Asked,
) {
  const result = answer?.result;
  const served = sourceOrFirst(parts, asked.source);
  const source = served?.name ?? '';
  const columns = result === undefined ? [] : chartable(result);
  const drawn = chart === 'none' || columns.includes(chart) ? chart : (columns[0] ?? 'none');
  const now = await nowIn(parts, served);
  const fresh = (answer && ageText(answer.age)) ?? '';
  const main = html`<form method="post" action="/sql" class="grid side">
<div class="col">
<section class="card"><div class="head"><h1 class="h2"><label for="query">Query</label></h1>${sourceField(parts.sources, source)}</div>
<textarea id="query" name="query" rows="8" spellcheck="false" autocapitalize="off" data-submit>${query}</textarea>
<div class="row after"><button class="main" name="do" value="run">Run</button><button name="do" value="csv">Download CSV</button>${columns.length > 0 ? choice('chart', 'Chart', [...columns, 'none'], drawn) : ''}${choice('age', 'Maximum age', Object.keys(AGES), age)}</div>
<p class="soft after">Read-only, at most 10 seconds and ${plural(MOST_ROWS, 'row')}. Ctrl+Enter runs it. Data older than the maximum age is first read again, in at most ${plural(MOST_REQUESTS, 'request')}.</p></section>
${trouble === undefined ? '' : html`<section class="card" aria-label="Error"><p class="bad" role="alert">${trouble.message}</p>${trouble.next === undefined ? '' : html`<p>${trouble.next}</p>`}</section>`}
${result === undefined ? '' : resultCard(result, drawn, fresh)}
</div>
<div class="col">${served === undefined ? '' : html`<aside class="card" aria-label="Tables">${tablesAndColumns(parts, served)}</aside>`}
<aside class="card" aria-label="Cookbook"><div class="head"><h2>Cookbook</h2></div>${cookbook(query)}</aside></div>
</form>`;
  const page = documentOf({ title: 'SQL', section: '/sql', ...now, main, isStill: true });
  return c.html(page, trouble === undefined ? 200 : 422);
}

function resultCard(result: QueryResult, drawn: string, fresh: string): Html {
  const { columns, rows, isCut, ms } = result;
  const head = isCut ? `The first ${plural(rows.length, 'row')}` : plural(rows.length, 'row');
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

const columnItem = ({ name, type }: ColumnOfTable): Html | '' =>
  name === '_hash'
    ? ''
    : html`<li><code>${name}</code> <span class="soft">${type.replace('timestamp with time zone', 'timestamptz')}</span></li>`;

/** What a query can name. A link begins one. */
async function tablesAndColumns({ database }: ConsoleParts, { name: source, schema }: ServedSource): Promise<Html> {
  const tables = groupBy(await listColumns(database.kysely, schema, null), ({ table }) => table);
  const isPast = historyAmong(tables.keys());
  const shown = [...tables].filter(([name]) => !isPast(name));
  const columnsOf = ([name, columns]: (typeof shown)[number]) =>
    html`<details><summary>${name}</summary><p><a href="${queryPath(source, name)}">Query it</a></p>
<ul class="columns">${columns.map(columnItem)}</ul></details>`;
  return html`<details><summary>Tables and columns</summary>${shown.map(columnsOf)}</details>`;
}

function cookbook(query: string): Html[] {
  const pick = ({ question, sql }: (typeof COOKBOOK)[number]) =>
    html`<li><button name="recipe" value="${question}"${sql === query ? html` aria-current="true"` : ''}>${question}</button></li>`;
  return [...groupBy(COOKBOOK, ({ group }) => group)].map(
    ([group, recipes]) => html`<h3 class="soft after">${group}</h3><ul class="picks">${recipes.map(pick)}</ul>`,
  );
}

/** More bars than this cannot be told apart. */
const MOST_BARS = 60;

/** The columns that can be drawn over the first one: numbers, none of them negative. */
function chartable({ columns, rows }: QueryResult): string[] {
  if (rows.length < 2 || rows.length > MOST_BARS) return [];
  return columns
    .filter((column, place) => place > 0 && NUMBERS.has(column.oid))
    .filter(column => rows.every(row => Number(row[columns.indexOf(column)] ?? 0) >= 0))
    .map(({ name }) => name);
}

/** One column of the result as bars over the first one. */
function resultChart({ columns, rows }: QueryResult, column: string): Html {
  const place = columns.findIndex(({ name }) => name === column);
  return bars({
    label: `${column} by ${columns[0]?.name ?? ''}`,
    unit: columns[0]?.name ?? '',
    series: { [column]: 'q1' },
    columns: rows.map(row => ({ name: row[0] ?? 'null', values: [Number(row[place] ?? 0)] })),
    hasTable: true,
  });
}

/** Cells that a spreadsheet would take for formulas begin with an apostrophe. */
function download(c: Context, { columns, rows, isCut }: QueryResult) {
  const { write, end } = csvSafe();
  c.header('Content-Type', 'text/csv; charset=utf-8');
  c.header('Content-Disposition', `attachment; filename="${isCut ? `first-${MOST_CSV_ROWS}-rows` : 'result'}.csv"`);
  return c.body(write(columns, rows) + end());
}
