import type { Context } from 'hono';
import { z } from 'zod';
import { SECOND } from '../../clock.ts';
import { isKind, type SluiceError } from '../../errors.ts';
import { parseDuration } from '../format.ts';
import { MOST_REQUESTS } from '../orders/refresh.ts';
import { type ServedSource, sourceAsked } from '../status/served-source.ts';
import { asOf, doubtsOf, MOST_WAIT_S } from './fresh-query.ts';
import type { RunQuery } from './queries.ts';

const MOST_ROWS = 100_000;

/** What a program asks by `POST /query`. */
export const programQuery = z.strictObject({
  sql: z.string().min(1).describe('One statement; it can only read.'),
  source: z
    .string()
    .optional()
    .describe('Whose tables are found without their schema. Needed where there are several sources.'),
  rows: z.number().int().min(1).max(MOST_ROWS).default(1000).describe('At most so many.'),
  maxAge: z.string().optional().describe('What is older is read again first: 5m, 90s, 2h, 0.'),
  maxRequests: z
    .number()
    .int()
    .min(1)
    .default(MOST_REQUESTS)
    .describe('There is no answer if that takes more requests.'),
  wait: z.number().int().min(1).max(3600).default(MOST_WAIT_S).describe('Or more seconds.'),
});

/** The answer; times are ISO 8601, values texts as Postgres writes them. */
export const programAnswer = z.object({
  columns: z.array(z.string()),
  rows: z.array(z.array(z.string().nullable())),
  cut: z.boolean().describe('There are more rows.'),
  asOf: z.iso
    .datetime()
    .nullable()
    .describe('All that the query reads equals the source as of then; null where that is not known.'),
  unsettled: z.number().describe('Rows among them that may be gone, which is not proven yet.'),
  quarantined: z.number().describe('Records among them in quarantine: they may be older, or lacking.'),
  held: z.number().describe('Rows among them with values that are kept although the source shows none.'),
  requests: z.number().describe('Spent to make it fresh.'),
});

export const programError = z.object({
  error: z.string(),
  next: z.string().optional().describe('What to do, where that is known.'),
});

/** What the statuses mean; the body is a `programError`. */
export const QUERY_ERRORS = {
  400: 'The request is not valid.',
  401: 'SLUICE_TOKEN is set, and the request does not carry it.',
  403: 'A page of another site sent it, or it names another host although SLUICE_TOKEN is not set.',
  408: 'The query was stopped.',
  411: 'Its length is not known before.',
  413: 'It is larger than 64 KB.',
  415: 'It is not JSON.',
  422: 'The query is wrong, or reading again what is older would take more than it may, or failed. What exceeds the bounds is not begun.',
  429: 'The request limit does not pay for it in time, and no request was sent; or too many wrong tokens came.',
  500: 'Sluice failed. Its log says why.',
  503: 'The database cannot be reached, or the login that is set for queries may do more than read.',
} as const;

const STATUS = { usage: 422, failed: 422, stopped: 408, quota: 429, database: 503, configuration: 503 } as const;
const KINDS = Object.keys(STATUS) as (keyof typeof STATUS)[];

/** Whether the query, or what it takes to answer it, failed; any other error is one of Sluice. */
export const isOfQuery = (error: unknown): error is SluiceError & { readonly kind: keyof typeof STATUS } =>
  isKind(error, ...KINDS);

/** Answers with JSON, an error as `{ error, next }`. */
export async function answerProgram(
  c: Context,
  sources: readonly ServedSource[],
  run: RunQuery,
  hide: (text: string) => string,
) {
  const fail = (status: 400 | (typeof STATUS)[keyof typeof STATUS], error: string, next?: string) =>
    c.json({ error: hide(error), ...(next ? { next: hide(next) } : {}) }, status);
  const body: unknown = await c.req.json().catch(() => undefined);
  const asked = programQuery.safeParse(body);
  if (!asked.success)
    return fail(400, `The request is not valid: ${z.prettifyError(asked.error)}`, 'Fields: see /openapi.json.');
  const { sql: query, source: name, rows: most, maxAge, maxRequests: mostRequests, wait } = asked.data;
  const source = sourceAsked(sources, name);
  if (source === undefined)
    return fail(
      400,
      `Which source? "source" is ${name === undefined ? 'missing' : `"${name}"`}.`,
      `Sources: ${sources.map(each => each.name).join(', ')}.`,
    );
  const maxAgeMs = maxAge === undefined ? undefined : parseDuration(maxAge);
  if (maxAgeMs === null)
    return fail(400, `"maxAge" is "${maxAge}".`, 'Expected: a number with s, m, h or d, such as 5m, or 0.');
  const freshness = maxAgeMs === undefined ? null : { maxAgeMs, mostRequests, waitMs: wait * SECOND };
  try {
    const { result, age } = await run({ query, schema: source.schema, most, freshness, signal: c.req.raw.signal });
    const at = asOf(age);
    return c.json({
      columns: result.columns.map(column => column.name),
      rows: result.rows,
      cut: result.isCut,
      asOf: at === null ? null : new Date(at).toISOString(),
      ...doubtsOf(age.lists),
      requests: age.requests,
    });
  } catch (error) {
    if (!isOfQuery(error)) throw error;
    return fail(STATUS[error.kind], error.message, error.next);
  }
}
