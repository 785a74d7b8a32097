import { Hono } from 'hono';
import { html } from 'hono/html';
import { explain } from '../../errors.ts';
import {
  type ColumnOfTable,
  listColumns,
  listViews,
  measureTables,
  newestRows,
  type TableSize,
} from '../../warehouse/reports/data-tables.ts';
import { resourceProofs } from '../../warehouse/reports/state-queries.ts';
import { count, plural } from '../format.ts';
import type { Html } from '../html-document.ts';
import type { ServedSource } from '../status/served-source.ts';
import { sumOf } from '../status/source-state.ts';
import { type ConsoleParts, nowIn, sourceNamed, sourceOf } from './console-parts.ts';
import { card, commandBox, documentOf, sourceField, table } from './elements.ts';
import { recordPath } from './record-page.ts';

const MOST_ROWS = 50;

export const dataRoutes = (parts: ConsoleParts): Hono =>
  new Hono()
    .get('/data', async (c, next) => {
      const source = sourceNamed(parts, c.req.query('source') ?? parts.sources[0]?.name);
      return source === undefined ? next() : c.html(await dataPage(parts, source));
    })
    .get('/data/:source/:table', async (c, next) => {
      const page = await tablePage(parts, sourceOf(parts, c), c.req.param('table'));
      return page === null ? next() : c.html(page);
    });

/** What there is to query, of one source at a time. */
async function dataPage(parts: ConsoleParts, served: ServedSource): Promise<Html> {
  const { kysely } = parts.database;
  const { name: source, schema, jobs } = served;
  const tables = await measureTables(kysely, schema, { known: await parts.rowCounts(served) });
  const views = await listViews(kysely, schema);
  const proofs = await resourceProofs(
    kysely,
    [...jobs.keys()].map(resource => ({ source, resource })),
  );
  const [quarantined, missing] = [sumOf(proofs, 'quarantined'), sumOf(proofs, 'missing')];
  const held = sumOf(proofs, 'held');
  const path = encodeURIComponent(source);
  const other =
    parts.sources.length > 1
      ? html`<form class="row filter" method="get" action="/data">${sourceField(parts.sources, source)}<button>Show</button></form>`
      : '';
  const exceptions = html`<p class="foot after"><span><a href="/quarantine/${path}"><b>${count(quarantined)}</b> in quarantine</a></span><span><a href="/missing/${path}"><b>${count(missing)}</b> missing</a></span>${held > 0 ? html`<span><a href="/held/${path}"><b>${count(held)}</b> held</a></span>` : ''}<span><a href="/fields/${path}">fields</a></span><span><a href="/months/${path}">closed months</a></span><span><a href="/changed/${path}">changes</a></span></p>`;
  const list = table({
    caption: `Tables of ${source}`,
    head: ['table', 'rows', 'what it holds'],
    right: [1],
    rows: tables.map(each => [
      html`<a href="/data/${path}/${encodeURIComponent(each.name)}">${each.name}</a>`,
      sizeOf(each, count),
      each.comment ?? '',
    ]),
  });
  const viewTable = (caption: string, shown: typeof views) =>
    table({
      caption,
      head: ['view', 'what it shows'],
      right: [],
      rows: shown.map(({ name, comment }) => [html`<a href="${queryPath(source, name)}">${name}</a>`, comment ?? '']),
    });
  const isPast = historyAmong(tables.map(({ name }) => name));
  const past = views.filter(({ name }) => isPast(name));
  const questions = views.filter(({ name }) => !isPast(name));
  const main = html`<h1>Data</h1>${card(`Schema ${schema}`, [other, list, exceptions])}
${views.length > 0 ? card('Views: a link opens one as a query', [viewTable(`Views of ${source}`, questions), past.length === 0 ? '' : html`<details><summary>${plural(past.length, 'view')} of earlier versions</summary>${viewTable(`Earlier versions of ${source}`, past)}</details>`]) : ''}
${card('For psql and BI tools', await readerAddress(parts))}`;
  return documentOf({ title: 'Data', section: '/data', ...(await nowIn(parts, served)), main });
}

/** The rows of a table, as far as that is known without counting for long. */
const sizeOf = ({ rows, isExact }: TableSize, words: (rows: number) => string): string =>
  rows === null ? 'many rows' : `${isExact ? '' : 'about '}${words(rows)}`;

/** Without its password: a page may be seen by people who may not have it. */
async function readerAddress(parts: ConsoleParts): Promise<Html> {
  try {
    const reader = await parts.openReader();
    const { rows } = (await reader?.query<{ login: string }>('select current_user as login')) ?? {};
    return await connection(reader && `postgres://${encodeURIComponent(rows?.[0]?.login ?? '')}@${reader.place}`);
  } catch (error) {
    return html`<p class="bad">The read-only login cannot be used: ${parts.hide(explain(error))}</p>`;
  }
}

const connection = (reader: string | null): Html =>
  reader === null
    ? html`<p>No read-only login is set. This creates one:</p>${commandBox('sluice grant')}`
    : html`${commandBox(`psql "${reader}"`)}<p class="soft after">This login may only read. Its password is in the address that sluice status prints for the included Postgres, and sluice grant for yours.</p>`;

/** Which views show the versions that the rows of one of these tables had. */
export function historyAmong(tables: Iterable<string>): (view: string) => boolean {
  const names = new Set([...tables].map(table => `${table}_history`));
  return view => names.has(view);
}

/** Opens a table or view as a query. */
export const queryPath = (source: string, name: string): string =>
  `/sql?${new URLSearchParams({ source, query: `select * from ${quoted(name)} limit 100` }).toString()}`;

const quoted = (name: string): string => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`);

/** One table: its columns and its newest rows. Null for one that is not there. */
async function tablePage(parts: ConsoleParts, source: ServedSource, name: string): Promise<Html | null> {
  const { kysely } = parts.database;
  const { schema, jobs } = source;
  const [info] = await measureTables(kysely, schema, { known: await parts.rowCounts(source), only: name });
  if (info === undefined) return null;
  const columns = await listColumns(kysely, schema, name);
  const newest = await newestRows(kysely, { schema, name }, columns, MOST_ROWS);
  const shown = columns.filter(column => column.name !== '_hash');
  const recordOf = recordFinder(jobs, name, columns);
  const cellsOf = (row: Row) => {
    const cells = shown.map(column => row[column.name] ?? html`<span class="soft">null</span>`);
    const { resource, key } = recordOf(row);
    const isRecord = key && resource && jobs.has(resource) && cells[0] !== undefined;
    return isRecord
      ? cells.with(0, html`<a href="${recordPath(parts, source.name, resource, key)}">${cells[0]}</a>`)
      : cells;
  };
  const list = table({
    caption: `Newest rows of ${name}`,
    head: shown.map(column => column.name),
    right: shown.flatMap(({ type }, index) => (/^(bigint|integer|numeric)/.test(type) && index > 0 ? [index] : [])),
    rows: newest.map(cellsOf),
  });
  const meanings = table({
    caption: `Columns of ${name}`,
    head: ['column', 'type', 'meaning'],
    right: [],
    rows: columns.map(({ name: column, type, comment, isKey }) => [
      html`<code>${column}</code>`,
      type,
      `${isKey ? 'Primary key. ' : ''}${comment ?? ''}`,
    ]),
  });
  const isAll = newest.length < MOST_ROWS || (info.rows !== null && info.rows <= newest.length);
  const note = isAll ? '' : `${count(newest.length)} of ${sizeOf(info, count)}`;
  const main = html`<p class="crumb"><a href="/data">Data</a> / ${source.name} / ${name}</p>
<div class="head"><h1>${schema}.${name}</h1><span>${sizeOf(info, rows => plural(rows, 'row'))}</span></div>${info.comment === null ? '' : html`<p>${info.comment}</p>`}
${card('Newest rows', newest.length === 0 ? html`<p class="soft">The table is empty.</p>` : list, note)}
${card('Columns', meanings)}`;
  return documentOf({ title: `${schema}.${name}`, section: '/data', ...(await nowIn(parts, source)), main });
}

type Row = Readonly<Record<string, string | null>>;

/** Which record a row of a table belongs to: a child row, to its parent; a row of the history, to the record that it was a version of. */
function recordFinder(jobs: ServedSource['jobs'], table: string, columns: readonly ColumnOfTable[]) {
  for (const [resource, { children }] of jobs)
    for (const child of Object.values(children))
      if (child.table === table) return (row: Row) => ({ resource, key: row[child.parent] });
  if (table === 'row_history' || table === 'change_log')
    return (row: Row) => ({ resource: row.resource, key: row.key });
  const keyColumn = columns.find(({ isKey }) => isKey)?.name ?? '';
  return (row: Row) => ({ resource: table, key: row[keyColumn] });
}
