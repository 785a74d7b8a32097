import { once } from 'node:events';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { Command } from 'commander';
import { z } from 'zod';
import { explain } from '../../errors.ts';
import { asOf, doubtsOf } from '../../service/answers/fresh-query.ts';
import { isoTimes, parseDuration } from '../../service/format.ts';
import { estimateReading } from '../../service/orders/order-cost.ts';
import { parseRange } from '../../service/orders/order-requests.ts';
import { MOST_REQUESTS } from '../../service/orders/refresh.ts';
import { runBounded, TIMEOUT_MS } from '../../service/query/bounded-query.ts';
import { readStory, recordVerdict } from '../../service/record/record-story.ts';
import { driftedFields } from '../../service/status/field-drift.ts';
import { VERSION } from '../../version.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import { readTraits } from '../../warehouse/ledgers/traits.ts';
import { changesQuery, readNumbers } from '../../warehouse/reports/changes.ts';
import { freshen } from '../run/fresh-answer.ts';
import { openMigrated, openToRead } from '../run/pending-migrations.ts';
import { type Cli, listOf, newCommand, openQueryLogin, type Session } from '../session/session.ts';
import { hoursOf, orderBackfill } from './backfill.ts';

const INSTRUCTIONS = `A Postgres warehouse that Sluice keeps equal to a business suite: customers, invoices, transactions and more.
Start with describe_tables. Before you rely on an answer, ask freshness: rows change at the source, and the warehouse follows.`;

export function command(cli: Cli): Command {
  return newCommand('mcp', 'sluice mcp\nsluice mcp --allow-orders    it may also order backfills, which spend requests')
    .option('--allow-orders', 'the agent may order backfills')
    .action(cli.action({ source: false }, mcp));
}

async function mcp(session: Session, { allowOrders = false }: { allowOrders?: boolean }): Promise<0> {
  // Throws if there are several sources: --source must name one.
  void session.settings.single;
  const database = await (allowOrders ? openMigrated(session) : openToRead(session, { migrates: true }));
  const reader = await openQueryLogin(session);
  const server = new McpServer({ name: 'sluice', version: VERSION }, { instructions: INSTRUCTIONS });
  registerTools(server, session, { database, reader, allowOrders });
  await server.connect(new StdioServerTransport(session.shell.stdin, session.shell.stdout));
  // The client closes our standard input when it is done.
  await once(session.shell.stdin, 'end', { signal: session.signal }).catch(() => undefined);
  await server.close();
  return 0;
}

/* Annotations tell a client what it may run unasked. */
const READ_ONLY = { readOnlyHint: true, openWorldHint: false } as const;
const MOST_ROWS = 1000;
const FRESH = {
  max_age: z
    .string()
    .refine(text => parseDuration(text) !== null, 'Expected: such as 5m, 90s, 2h or 0.')
    .optional()
    .describe('such as 5m, 90s, 2h or 0'),
  max_requests: z.number().int().min(1).max(MOST_REQUESTS).optional(),
};
const day = z.string().describe('YYYY-MM-DD');

const DESCRIBE = `
  select case c.relkind when 'v' then 'view' else 'table' end as kind, n.nspname || '.' || c.relname as name,
    obj_description(c.oid, 'pg_class') as comment,
    jsonb_object_agg(a.attname, jsonb_strip_nulls(jsonb_build_object('type', format_type(a.atttypid, a.atttypmod),
      'comment', col_description(c.oid, a.attnum)))) as columns
  from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
  where n.nspname in (current_schema(), 'sluice') and c.relkind in ('r', 'p', 'v') and a.attnum > 0 and not a.attisdropped
    and c.relname !~ '^migrations' and has_table_privilege(c.oid, 'select')
  group by c.oid, n.nspname order by n.nspname = 'sluice', 2`;

/** Registers the tools. All read, as `reader` where the query is the client's own; ordering a backfill is there only if it is allowed. */
function registerTools(
  server: McpServer,
  session: Session,
  { database, reader, allowOrders }: { database: Database; reader: Database; allowOrders: boolean },
): void {
  const { settings, jobs, signal } = session;
  const { name: sourceName, schema } = settings.single;
  const rangeOf = (name: string, range: { from?: string | undefined; to?: string | undefined }) =>
    parseRange(jobs, name, range, { from: 'from', to: 'to' });
  const run = async (sql: string, most: number) => {
    const { columns, rows, isCut } = await runBounded(reader, { query: sql, schema, most, signal });
    return { columns: columns.map(({ name }) => name), rows, cut: isCut };
  };
  /** Registers one tool. Its result is JSON; an error is text with the next step, for the model to read. */
  const tool = <Shape extends z.ZodRawShape>(
    name: string,
    { title, description, annotations = READ_ONLY }: { title: string; description: string; annotations?: object },
    shape: Shape,
    work: (given: z.output<z.ZodObject<Shape>>) => Promise<unknown>,
  ) => {
    const inputSchema: z.ZodRawShape = shape;
    server.registerTool(name, { title, description, inputSchema, annotations }, async given => {
      try {
        const result = await work(given as z.output<z.ZodObject<Shape>>);
        return { content: [{ type: 'text', text: JSON.stringify(isoTimes(result)) }] };
      } catch (error) {
        return { content: [{ type: 'text', text: session.terminal.hidden(explain(error)) }], isError: true };
      }
    });
  };
  const resource = z.enum([...jobs.keys()]).describe('the list');
  const range = { from: day.optional(), to: day.optional() };

  tool(
    'query',
    {
      title: 'Query the warehouse',
      description: `Runs one read-only SQL statement (Postgres) and returns its rows as text. Tables are found without their schema. It may take 10 seconds and return 32 MB. Views answer common questions: see describe_tables. as_of: everything the query reads equals the source as of this time.${allowOrders ? ' max_age: data older than this is first read again from the source, in at most max_requests requests.' : ''}`,
    },
    {
      sql: z.string(),
      rows: z.number().int().min(1).max(MOST_ROWS).default(200).describe('at most so many'),
      ...(allowOrders ? FRESH : {}),
    },
    async ({ sql, rows, ...fresh }) => {
      const { max_age, max_requests } = fresh as { max_age?: string; max_requests?: number };
      const given =
        max_age === undefined
          ? {}
          : { maxAge: parseDuration(max_age) ?? 0, ...(max_requests ? { maxRequests: max_requests } : {}) };
      const age = await freshen(session, reader, { query: sql, schema, timeoutMs: TIMEOUT_MS }, given);
      const at = age && asOf(age);
      return {
        ...(await run(sql, rows)),
        as_of: at === null ? null : new Date(at).toISOString(),
        ...doubtsOf(age?.lists ?? null),
        requests: age?.requests ?? 0,
      };
    },
  );
  tool(
    'changes',
    {
      title: 'What changed',
      description:
        'Changes of rows in the order of their numbers, with before and after: from a number on, or the newest. A first reading of a list is no change.',
    },
    {
      resource: resource.optional(),
      from: z.number().int().min(0).optional().describe('the first number'),
      rows: z.number().int().min(1).max(MOST_ROWS).default(50).describe('at most so many'),
    },
    async ({ resource: list, from, rows }) => {
      const { first, last } = await readNumbers(database, schema);
      const between = from === undefined ? { to: last, newest: rows } : { from, to: last };
      return { first, last, ...(await run(changesQuery({ ...between, resource: list }), rows)) };
    },
  );
  tool(
    'describe_tables',
    {
      title: 'Describe the tables',
      description: 'Every table and view with its columns, their types and what they mean. Money is exact numeric.',
    },
    {},
    async () => {
      const { rows } = await run(DESCRIBE, MOST_ROWS);
      return rows.map(([kind, name, comment, columns]) => {
        return { kind, name, comment, columns: JSON.parse(columns ?? '{}') };
      });
    },
  );
  tool(
    'freshness',
    {
      title: 'How fresh and complete the data is',
      description:
        'For each list: whether all of it (or, with from and to, that range of dates) was read, and as of when it is proven equal to the source. An answer is only as good as this. drift: fields that appeared or vanished at the source.',
    },
    range,
    async given => {
      const { from, to } = rangeOf('any', given);
      const { rows } = await database.query(
        `select resource, complete, as_of, (select count(*) from sluice.missing m where m.source = c.source and m.resource = c.resource)::int as missing,
          (select count(*) from sluice.quarantine q where q.source = c.source and q.resource = c.resource and resolved_at is null)::int as quarantined,
          (select count(*) from sluice.held h where h.source = c.source and h.resource = c.resource)::int as held
        from sluice.complete(coalesce($2::date, '-infinity'), coalesce($3::date, 'infinity')) c where source = $1`,
        [sourceName, from, to],
      );
      const now = await databaseNow(database);
      const drift = driftedFields(await readTraits(database.kysely, sourceName), jobs, now);
      return { now: new Date(now).toISOString(), lists: rows, drift };
    },
  );
  tool(
    'why_record',
    {
      title: 'The story of one record',
      description:
        'Whether a record equals the source and since when, which run and request brought it, its earlier versions, and why it is missing or in quarantine.',
    },
    { resource, key: z.string().describe('its id') },
    async ({ resource: name, key }) => {
      const story = await readStory(database, listOf(session, name), key);
      const { text, rest } = recordVerdict(story, await databaseNow(database));
      return { verdict: `${text}. ${rest}`, ...story };
    },
  );
  tool(
    'backfill_cost',
    {
      title: 'What a backfill would cost',
      description:
        'Requests and hours at the request limit for reading a list, or a range of its dates, again. Sends no request.',
    },
    { resource, ...range },
    async ({ resource: name, ...given }) => {
      const { from, to } = rangeOf(name, given);
      const { parts, neverRead, rows, requests } = await estimateReading(database, listOf(session, name), { from, to });
      const hours = hoursOf(requests, settings.single);
      return { resource: name, from, to, slices: parts.length, neverRead, rows, requests, hours };
    },
  );
  if (!allowOrders) return;
  tool(
    'order_backfill',
    {
      title: 'Order a backfill',
      description: 'Has a list, or a range of its dates, read again. It spends requests: ask backfill_cost first.',
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    },
    { resource, ...range },
    async ({ resource: name, ...given }) => {
      const { order, state, service } = await orderBackfill(database, sourceName, name, rangeOf(name, given));
      return { order, state, service };
    },
  );
}
