import type { z } from 'zod';
import type { RequestContext } from '../client.ts';
import { checkRows } from './check-answer.ts';
import { checkInput } from './check-input.ts';
import { contradicts, iteration, paging } from './filters.ts';
import { type Page, pageSizes, readAll } from './read-all.ts';
import { absent, type CallOptions, offered, present, type Session } from './session.ts';

export interface Paging {
  /** From 1. */
  page?: number;
  /** Rows to ask for. The source may give fewer: most stop at 100. Default: the source's own, 20 for customers. */
  limit?: number;
}

export interface Iteration {
  /** Rows to ask for at a time. Default: 1000, and less where the source refuses that. */
  limit?: number;
  /** After that many pages it is an error that the list has not ended. Default 10,000. */
  maxPages?: number;
}

export interface ListOperations<Row, Filters = unknown> {
  /** One page. Rows that contradict a filter are left out, since some sources ignore filters. A page past the end is empty. */
  list(ask?: Filters & Paging, options?: CallOptions): Promise<Page<Row>>;
  /** Every row, page after page as they are needed. Requests of single calls go before these. */
  all(ask?: Filters & Iteration, options?: CallOptions): AsyncIterable<Row>;
}

export function listOperations<R extends z.ZodType<object>, F extends z.ZodObject>(
  { source, within }: Session,
  { path, row, filters }: { path: string; row: R; filters: F },
): ListOperations<z.output<R>, z.input<F>> {
  type Row = z.output<R>;
  /** The page size this source has taken when it was left to us. */
  let taken: number | undefined;
  /** The list has shown itself. */
  let isThere = false;

  async function pageOf(
    query: Readonly<Record<string, string>>,
    ask: z.output<typeof paging>,
    context: RequestContext,
  ): Promise<Page<Row>> {
    const answer = await offered(path, () => source.list(path, query, ask, context));
    if (answer.kind === 'rows') {
      isThere = true;
      const rows = checkRows(row, answer.rows, path);
      return { rows, ...(answer.meta && { meta: answer.meta }) };
    }
    // Past the end, some sources say that there is no such page.
    if ((ask.page ?? 1) > 1) return { rows: [] };
    // So they do where a filter shows nothing. Whether the list is there it tells itself.
    if (Object.keys(query).length > 0) {
      isThere ||= (await offered(path, () => source.list(path, {}, { limit: 1 }, context))).kind === 'rows';
      if (isThere) return { rows: [] };
    }
    throw absent(path);
  }

  return {
    async list(given, options) {
      const { page, limit, ...asked }: Paging = given ?? {};
      const ask = checkInput(paging, { page, limit }, path);
      const query = present(checkInput(filters, asked, path));
      const came = await within('live', options, context => pageOf(query, ask, context));
      return { ...came, rows: came.rows.filter(each => !contradicts(each, query)) };
    },
    async *all(given, options) {
      const { limit, maxPages, ...asked }: Iteration = given ?? {};
      const walk = checkInput(iteration, { limit, maxPages }, path);
      const query = present(checkInput(filters, asked, path));
      const rows = readAll<Row>({
        path,
        async ask(page, size) {
          const came = await within('backfill', options, context => pageOf(query, { page, limit: size }, context));
          if (walk.limit === undefined) taken = size;
          return came;
        },
        sizes: pageSizes(walk.limit, taken),
        maxPages: walk.maxPages ?? 10_000,
      });
      for await (const each of rows) if (!contradicts(each, query)) yield each;
    },
  };
}
