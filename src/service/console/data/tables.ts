import { Hono } from 'hono';
import { html } from 'hono/html';
import {
  type ColumnOfTable,
  countTables,
  listColumns,
  listTables,
  listViews,
  newestRows,
} from '../../../warehouse/reports/data-tables.ts';
import { resourceProofs } from '../../../warehouse/reports/source-state.ts';
import { count, plural } from '../../format.ts';
import type { ServedSource } from '../../status/served-source.ts';
import { sumOf } from '../../status/source-state.ts';
import { type ConsoleParts, nowIn } from '../console-parts.ts';
import { card, choice, commandBox, documentOf, type Html, table } from '../elements.ts';
import { recordPath } from '../record/record-page.ts';

const MOST_ROWS = 50;

export const dataRoutes = (parts: ConsoleParts): Hono =>
  new Hono()
    .get('/data', async (c, next) => {
      const asked = c.req.query('source') ?? parts.sources[0]?.name;
      const source = parts.sources.find(({ name }) => name === asked);
      return source === undefined ? next() : c.html(await dataPage(parts, source));
    })
    .get('/data/:source/:table', async (c, next) => {
      const source = parts.sources.find(({ name }) => name === c.req.param('source'));
      const page = source && (await tablePage(parts, source, c.req.param('table')));
      return page ? c.html(page) : next();
    });

/** What there is to query, of one source at a time. */
async function dataPage(parts: ConsoleParts, served: ServedSource): Promise<Html> {
  const { kysely } = parts.database;
  const { name: source, schema, jobs } = served;
  const counted = await parts.rowCounts(served);
  const tables = await listTables(kysely, schema);
  const others = tables.filter(({ name }) => !counted.has(name)).map(({ name }) => name);
  const rest = await countTables(kysely, schema, others);
  const rowsOf = (table: string) => counted.get(table) ?? rest[others.indexOf(table)] ?? 0;
  const views = await listViews(kysely, schema);
  const proofs = await resourceProofs(
    kysely,
    [...jobs.keys()].map(resource => ({ source, resource })),
  );
  const [quarantined, missing] = [sumOf(proofs, 'quarantined'), sumOf(proofs, 'missing')];
  const sources = parts.sources.map(({ name }) => name);
  const path = encodeURIComponent(source);
  const other =
    sources.length > 1
      ? html`<form class="row filter" method="get" action="/data">${choice('source', 'Source', sources, source)}<button>Show</button></form>`
      : '';
  const exceptions = html`<p class="foot after"><span><a href="/quarantine/${path}"><b>${count(quarantined)}</b> in quarantine</a></span><span><a href="/missing/${path}"><b>${count(missing)}</b> missing</a></span></p>`;
  const list = table({
    caption: `Tables of ${source}`,
    head: ['table', 'rows', 'what it holds'],
    right: [1],
    rows: tables.map(({ name, comment }) => [
      html`<a href="/data/${path}/${encodeURIComponent(name)}">${name}</a>`,
      count(rowsOf(name)),
      comment ?? '',
    ]),
  });
  const questions = table({
    caption: `Views of ${source}`,
    head: ['view', 'what it shows'],
    right: [],
    rows: views.map(({ name, comment }) => [
      html`<a href="/sql?${new URLSearchParams({ source, query: `select * from ${quoted(name)} limit 100` })}">${name}</a>`,
      comment ?? '',
    ]),
  });
  const main = html`<h1>Data</h1>${card(`Schema ${schema}`, [other, list, exceptions])}
${views.length > 0 ? card('Views: a link opens one as a query', questions) : ''}
${card('For psql and BI tools', connection(await readerAddress(parts)))}`;
  return documentOf({ title: 'Data', section: '/data', ...(await nowIn(parts, served)), main });
}

/** Without its password: a page may be seen by people who may not have it. */
async function readerAddress(parts: ConsoleParts): Promise<string | null> {
  const reader = await parts.openReader().catch(() => null);
  if (reader === null) return null;
  const { rows } = await reader.query<{ login: string }>('select current_user as login');
  return `postgres://${encodeURIComponent(rows[0]?.login ?? '')}@${reader.place}`;
}

const connection = (reader: string | null): Html =>
  reader === null
    ? html`<p>No login that may only read is set. This creates one:</p>${commandBox('sluice grant')}`
    : html`${commandBox(`psql "${reader}"`)}<p class="soft after">This login may only read. Its password is in the address that sluice status prints for the included Postgres, and sluice grant for yours.</p>`;

const quoted = (name: string): string => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`);

/** One table: its columns and its newest rows. Null for one that is not there. */
async function tablePage(parts: ConsoleParts, source: ServedSource, name: string): Promise<Html | null> {
  const { kysely } = parts.database;
  const { schema, jobs } = source;
  const info = (await listTables(kysely, schema)).find(each => each.name === name);
  if (info === undefined) return null;
  const { comment } = info;
  const columns = await listColumns(kysely, schema, name);
  const owner = [...jobs].find(([, job]) => Object.values(job.children).some(each => each.table === name));
  const child = owner && Object.values(owner[1].children).find(each => each.table === name);
  const keyColumn = columns.find(({ isKey }) => isKey)?.name ?? '';
  const pathOf = (row: Readonly<Record<string, string | null>>): string | null => {
    const [resource, key] = child
      ? [owner[0], row[child.parent]]
      : name === 'row_history'
        ? [row.resource ?? '', row.key]
        : [name, row[keyColumn]];
    if (!key || !jobs.has(resource)) return null;
    return recordPath({ resource, key, source: source.name, several: parts.sources.length > 1 });
  };
  const rows = (await parts.rowCounts(source)).get(name) ?? (await countTables(kysely, schema, [name]))[0] ?? 0;
  const newest = await newestRows(kysely, { schema, name }, columns, MOST_ROWS);
  const shown = columns.filter(column => column.name !== '_hash');
  const cell = (row: Readonly<Record<string, string | null>>, column: ColumnOfTable) => {
    const value = row[column.name] ?? null;
    return value === null ? html`<span class="soft">null</span>` : value;
  };
  const main = html`<p class="crumb"><a href="/data">Data</a> / ${source.name} / ${name}</p>
<div class="head"><h1>${schema}.${name}</h1><span>${plural(rows, 'row')}</span></div>${comment === null ? '' : html`<p>${comment}</p>`}
${card(
  'Newest rows',
  newest.length === 0
    ? html`<p class="soft">The table is empty.</p>`
    : table({
        caption: `Newest rows of ${name}`,
        head: shown.map(column => column.name),
        right: shown.flatMap((column, index) =>
          /^(bigint|integer|numeric)/.test(column.type) && index > 0 ? [index] : [],
        ),
        rows: newest.map(row => {
          const [first, ...others] = shown;
          const path = pathOf(row);
          const name = first === undefined ? '' : cell(row, first);
          return [
            path === null ? name : html`<a href="${path}">${name}</a>`,
            ...others.map(column => cell(row, column)),
          ];
        }),
      }),
  newest.length < rows ? `${count(newest.length)} of ${count(rows)}` : '',
)}
${card(
  'Columns',
  table({
    caption: `Columns of ${name}`,
    head: ['column', 'type', 'meaning'],
    right: [],
    rows: columns.map(({ name: column, type, comment: meaning, isKey }) => [
      html`<code>${column}</code>`,
      type,
      `${isKey ? 'Primary key. ' : ''}${meaning ?? ''}`,
    ]),
  }),
)}`;
  return documentOf({ title: `${schema}.${name}`, section: '/data', ...(await nowIn(parts, source)), main });
}
