import type { QueryResult } from '../../query/bounded-query.ts';
import { NUMBERS } from '../../query/numbers.ts';
import type { Html } from '../layout/html.ts';
import { bars } from '../parts/bars.ts';

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
