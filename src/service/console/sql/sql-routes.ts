import { type Context, Hono } from 'hono';
import pLimit from 'p-limit';
import { isKind } from '../../../errors.ts';
import { databaseNow } from '../../../warehouse/database/now.ts';
import { csrfField } from '../../access/form-guard.ts';
import { type QueryResult, runBounded } from '../../query/bounded-query.ts';
import { COOKBOOK } from '../../query/cookbook.ts';
import { csvSafe } from '../../query/csv.ts';
import { readUpToDate } from '../../status/source-state.ts';
import type { ConsoleParts } from '../console-parts.ts';
import { type SqlShown, sqlPage } from './sql-page.ts';

const MOST_ROWS = 1000;
const MOST_CSV_ROWS = 100_000;
/** Queries that run at the same time; others wait. Each holds a connection. */
const MOST_AT_ONCE = 4;

const NO_READER = {
  message: 'No login that may only read is configured, so no query was run.',
  next: 'Run "sluice grant", and set READER_DATABASE_URL to the address that it prints. Then restart the service.',
};

export function sqlRoutes(parts: ConsoleParts): Hono {
  const inTurn = pLimit(MOST_AT_ONCE);
  const run = async (query: string, schema: string, most: number, signal: AbortSignal) => {
    const reader = await parts.openReader();
    if (reader === null) return NO_READER;
    return inTurn(() => runBounded(reader, { query, schema, most, signal }));
  };
  return new Hono()
    .get('/sql', async c => show(parts, c, { query: c.req.query('query') ?? '', source: c.req.query('source') }))
    .post('/sql', async c => {
      const fields = await c.req.parseBody();
      const given = (name: string) => (typeof fields[name] === 'string' ? fields[name] : '');
      const query = COOKBOOK.find(({ question }) => question === given('recipe'))?.sql ?? given('query').trim();
      const asked = { query, source: given('source'), chart: given('chart') };
      if (query === '') return show(parts, c, asked);
      const { schema = '' } = sourceOf(parts, asked.source) ?? {};
      const isCsv = given('do') === 'csv' && given('recipe') === '';
      try {
        const result = await run(query, schema, isCsv ? MOST_CSV_ROWS : MOST_ROWS, c.req.raw.signal);
        if ('message' in result) return await show(parts, c, { ...asked, trouble: result });
        return isCsv ? download(c, result) : await show(parts, c, { ...asked, result });
      } catch (error) {
        if (
          !isKind(error, 'failed') &&
          !isKind(error, 'usage') &&
          !isKind(error, 'stopped') &&
          !isKind(error, 'database')
        )
          throw error;
        const trouble = { message: parts.hide(error.message), next: error.next && parts.hide(error.next) };
        return show(parts, c, { ...asked, trouble });
      }
    });
}

const sourceOf = ({ sources }: ConsoleParts, name: string | undefined) =>
  sources.find(each => each.name === name) ?? sources[0];

async function show(
  parts: ConsoleParts,
  c: Context,
  asked: { query: string; source: string | undefined } & Partial<Pick<SqlShown, 'chart' | 'result' | 'trouble'>>,
) {
  const { database, sources } = parts;
  const source = sourceOf(parts, asked.source);
  const page: SqlShown = {
    chart: '',
    result: null,
    trouble: null,
    ...asked,
    sources: sources.map(({ name }) => name),
    source: source?.name ?? '',
    upToDateAt: source === undefined ? null : await readUpToDate(database, source),
    mostRows: MOST_ROWS,
    csrf: csrfField(c),
  };
  const now = { at: await databaseNow(database), timeZone: source?.timeZone ?? 'UTC' };
  return c.html(String(await sqlPage(page, now)), page.trouble === null ? 200 : 422);
}

/** Cells that a spreadsheet would take for formulas begin with an apostrophe. */
function download(c: Context, { columns, rows, isCut }: QueryResult) {
  const { write, end } = csvSafe();
  c.header('Content-Type', 'text/csv; charset=utf-8');
  c.header('Content-Disposition', `attachment; filename="${isCut ? `first-${MOST_CSV_ROWS}-rows` : 'result'}.csv"`);
  return c.body(write(columns, rows) + end());
}
