import type { z } from 'zod';
import { isKind } from '../../errors.ts';
import { contradicts, iteration, paging } from '../api/query-filters.ts';
import type { RequestContext } from '../requests/request.ts';
import { type Page, pageSizes, readAll } from './read-all.ts';
import { absent, type CallOptions, checkAnswer, checkInput, checkRows, offered, type Session } from './session.ts';

type Paging = z.input<typeof paging>;
type Iteration = z.input<typeof iteration>;

export interface ListOperations<Row, Filters = unknown> {
  /** Returns one page. Rows that contradict a filter are left out, since some sources ignore filters. A page past the end is empty. */
  list(ask?: Filters & Paging, options?: CallOptions): Promise<Page<Row>>;
  /** Iterates over every row and requests each page when it is needed. Requests of single calls go first. */
  all(ask?: Filters & Iteration, options?: CallOptions): AsyncIterable<Row>;
}

export function listOperations<R extends z.ZodType<object>, F extends z.ZodObject>(
  { source, within }: Session,
  { path, row, filters }: { path: string; row: R; filters: F },
): ListOperations<z.output<R>, z.input<F>> {
  type Row = z.output<R>;
  /** The default page size that this source accepted. */
  let taken: number | undefined;
  /** The list has returned a page. */
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
    // Some sources answer 404 to a page past the end.
    if ((ask.page ?? 1) > 1) return { rows: [] };
    // They do so for a filter without matches, too. A request without filters shows whether the list exists.
    if (Object.keys(query).length > 0) {
      isThere ||= (await offered(path, () => source.list(path, {}, {}, context))).kind === 'rows';
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

export function reportOperation<R extends z.ZodType<object>, P extends z.ZodObject>(
  { source, within }: Session,
  { path, row, period }: { path: string; row: R; period: P },
): (ask?: z.input<P>, options?: CallOptions) => Promise<z.output<R> | undefined> {
  return async (given, options) => {
    const query = present(checkInput(period, given ?? {}, path));
    try {
      const answer = await within('live', options, context => offered(path, () => source.get(path, context, query)));
      return answer.kind === 'gone' ? undefined : checkAnswer(row, answer.record, path);
    } catch (error) {
      if (isKind(error, 'absent')) return undefined;
      throw error;
    }
  };
}

/** The defined values of a query, as text. */
function present(values: Readonly<Record<string, unknown>>): Record<string, string> {
  const defined = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(defined.map(([name, value]) => [name, String(value)]));
}
