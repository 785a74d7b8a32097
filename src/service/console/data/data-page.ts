import { html } from 'hono/html';
import type { TableInfo } from '../../../warehouse/reports/data-tables.ts';
import { count } from '../../format.ts';
import { documentOf } from '../document.ts';
import { card, choice, commandBox, type Html, type Now, table } from '../elements.ts';

export interface SourceTables {
  readonly source: string;
  readonly schema: string;
  readonly tables: readonly (TableInfo & { readonly rows: number })[];
  readonly views: readonly TableInfo[];
  readonly quarantined: number;
  readonly missing: number;
  /** The address of the login that may only read, without its password; null if there is none. */
  readonly reader: string | null;
}

/** What there is to query, of one source at a time. */
export function dataPage(shown: SourceTables, sources: readonly string[], now: Now): Html {
  const { source, schema, tables, views, quarantined, missing, reader } = shown;
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
    rows: tables.map(({ name, comment, rows }) => [
      html`<a href="/data/${path}/${encodeURIComponent(name)}">${name}</a>`,
      count(rows),
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
${card('For psql and BI tools', connection(reader))}`;
  return documentOf({ title: 'Data', section: '/data', ...now, main });
}

const connection = (reader: string | null): Html =>
  reader === null
    ? html`<p>No login that may only read is set. This creates one:</p>${commandBox('sluice grant')}`
    : html`${commandBox(`psql "${reader}"`)}<p class="soft after">This login may only read. Its password is in the address that sluice status prints for the included Postgres, and sluice grant for yours.</p>`;

const quoted = (name: string): string => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`);
