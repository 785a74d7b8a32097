import type { Meta } from '../../../src/source/paging/page-count.ts';

/** A row of a list: its id, or what it holds where it has none. */
export type ModelRow = { readonly id: number } | { readonly content: string };

/** How a source pages a list. */
export interface Style {
  readonly meta: 'full' | 'records' | 'none';
  readonly limit: 'honoured' | 'clamped' | 'ignored';
  /** Rows a page where the limit is clamped or ignored, and where a list is cut off. */
  readonly pageSize: number;
  /** `ignored`: every page number shows the first page. `capped`: so does it, cut off at `pageSize`. `whole`: the whole list. */
  readonly page: 'turned' | 'ignored' | 'capped' | 'whole';
  readonly pastEnd: 'empty' | 'last page' | 'first page' | 'wraps';
  /** Rows come in another order at each request. */
  readonly shuffles: boolean;
}

/** Something that happens to the list before the nth request. */
export interface ListChange {
  readonly request: number;
  readonly insert: number;
  readonly remove: readonly number[];
}

/** Rows of a full page. */
export function pageLength({ page, limit: taken, pageSize }: Style, limit: number, rows: number): number {
  if (page === 'whole') return Math.max(rows, 1);
  if (page === 'capped' || taken === 'ignored') return pageSize;
  return taken === 'honoured' ? limit : Math.min(limit, pageSize);
}

/** A list in memory that answers for its pages. */
export function createList(
  rows: readonly ModelRow[],
  style: Style,
  changes: readonly ListChange[],
  random: () => number,
) {
  let now = [...rows];
  const removed = new Set<ModelRow>();
  let requests = 0;
  let nextId = 1_000_000;
  const applyChanges = () => {
    for (const change of changes.filter(({ request }) => request === requests)) {
      for (const place of change.remove)
        for (const row of now.splice(place % Math.max(now.length, 1), 1)) removed.add(row);
      const isBare = rows.some(row => 'content' in row);
      for (let n = 0; n < change.insert; n++) now.unshift(isBare ? { content: `new ${nextId++}` } : { id: nextId++ });
    }
  };
  return {
    requests: () => requests,
    /** Rows that were there from the first request to the last. */
    throughout: () => rows.filter(row => !removed.has(row)),
    ask(page: number, limit: number): { rows: ModelRow[]; meta: Meta | undefined } {
      requests++;
      applyChanges();
      if (style.shuffles)
        now = now
          .map(row => ({ row, at: random() }))
          .sort((a, b) => a.at - b.at)
          .map(({ row }) => row);
      const size = pageLength(style, limit, now.length);
      const pages = Math.max(Math.ceil(now.length / size), 1);
      const at = placeOf(style, page, pages);
      const shown = now.slice((at - 1) * size, at * size);
      const counted = style.page === 'turned' ? style.meta : 'none';
      const records = { totalRecords: now.length };
      const meta = counted === 'full' ? { totalPages: pages, ...records } : counted === 'records' ? records : undefined;
      return { rows: shown, meta };
    },
  };
}

function placeOf({ page: paging, pastEnd }: Style, page: number, pages: number): number {
  if (paging !== 'turned') return 1;
  if (page <= pages || pastEnd === 'empty') return page;
  if (pastEnd === 'last page') return pages;
  return pastEnd === 'first page' ? 1 : ((page - 1) % pages) + 1;
}

/** Keys as readings make them: equal rows without an id are numbered after those in `seen`. */
export function keysOf(rows: readonly ModelRow[], seen: { has(key: string): boolean }): string[] {
  const here = new Set<string>();
  for (const row of rows) {
    if ('id' in row) {
      here.add(String(row.id));
      continue;
    }
    let ordinal = 1;
    while (seen.has(`#${row.content}/${ordinal}`) || here.has(`#${row.content}/${ordinal}`)) ordinal++;
    here.add(`#${row.content}/${ordinal}`);
  }
  return [...here];
}
