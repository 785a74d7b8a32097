import { html } from 'hono/html';
import type { ColumnOfTable } from '../../../warehouse/reports/data-tables.ts';
import { count, plural } from '../../format.ts';
import { documentOf } from '../document.ts';
import { card, type Html, type Now, table } from '../elements.ts';

export interface TableShown {
  readonly source: string;
  readonly schema: string;
  readonly name: string;
  readonly comment: string | null;
  readonly columns: readonly ColumnOfTable[];
  readonly rows: number;
  readonly newest: readonly Readonly<Record<string, string | null>>[];
  /** The address of the page of one of these rows; null where it has none. */
  readonly pathOf: (row: Readonly<Record<string, string | null>>) => string | null;
}

/** One table: its columns and its newest rows. */
export function tablePage(
  { source, schema, name, comment, columns, rows, newest, pathOf }: TableShown,
  now: Now,
): Html {
  const shown = columns.filter(column => column.name !== '_hash');
  const cell = (row: Readonly<Record<string, string | null>>, column: ColumnOfTable) => {
    const value = row[column.name] ?? null;
    return value === null ? html`<span class="soft">null</span>` : value;
  };
  const main = html`<p class="crumb"><a href="/data">Data</a> / ${source} / ${name}</p>
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
  return documentOf({ title: `${schema}.${name}`, section: '/data', ...now, main });
}
