import { once } from 'node:events';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { Command } from 'commander';
import { z } from 'zod';
import { HOUR } from '../../clock.ts';
import { explain, SluiceError } from '../../errors.ts';
import { isoTimes } from '../../service/iso-times.ts';
import { estimateReading } from '../../service/orders/order-cost.ts';
import { parseRange } from '../../service/orders/order-range.ts';
import { placeOrder } from '../../service/orders/order-requests.ts';
import { runBounded } from '../../service/query/bounded-query.ts';
import { recordVerdict } from '../../service/record/describe-record.ts';
import { readStory } from '../../service/record/read-story.ts';
import { wakeUp } from '../../service/schedule/wake-ups.ts';
import { VERSION } from '../../version.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import { openMigrated } from '../run/pending-migrations.ts';
import { type Cli, newCommand, openQueryLogin, type Session } from '../session/session.ts';
import { isServiceRunning } from '../session/source-settings.ts';

const INSTRUCTIONS = `A Postgres warehouse that Sluice keeps equal to a business suite: customers, invoices, transactions and more.
Start with describe_tables. Before you rely on an answer, ask freshness: rows change at the source, and the warehouse follows.`;

export function mcpCommand(cli: Cli): Command {
  return newCommand(
    'mcp',
    'Let an agent query the warehouse: a Model Context Protocol server on standard input and output',
    'sluice mcp\nsluice mcp --allow-orders    it may also order backfills, which spend requests',
  )
    .option('--allow-orders', 'the agent may order backfills')
    .action(cli.action({ source: false }, serve));
}

async function serve(session: Session, { allowOrders = false }: { allowOrders?: boolean }): Promise<0> {
  // Throws if there are several sources: --source must name one.
  void session.settings.sourceName;
  const database = await openMigrated(session);
  const reader = await openQueryLogin(session);
  const server = new McpServer({ name: 'sluice', version: VERSION }, { instructions: INSTRUCTIONS });
  registerTools(server, session, { database, reader, allowOrders });
  await server.connect(new StdioServerTransport());
  // The client closes our standard input when it is done.
  await once(process.stdin, 'end', { signal: session.signal }).catch(() => undefined);
  await server.close();
  return 0;
}

/* Annotations tell a client what it may run unasked. */
const READ_ONLY = { readOnlyHint: true, openWorldHint: false } as const;
const MOST_ROWS = 1000;
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
  const { sourceName, schema } = settings;
  const answer = answerWith(text => session.terminal.hidden(text));
  const resource = z.enum([...jobs.keys()] as [string, ...string[]]).describe('the list');
  const listOf = (name: string) => {
    const job = jobs.get(name);
    if (!job) throw new SluiceError('usage', `There is no list ${name}.`);
    return { source: sourceName, schema, name, job };
  };
  const query = async (sql: string, most: number) => {
    const { columns, rows, isCut } = await runBounded(reader, { query: sql, schema, most, signal });
    return { columns: columns.map(({ name }) => name), rows, cut: isCut };
  };

  server.registerTool(
    'query',
    {
      title: 'Query the warehouse',
      description:
        'Runs one read-only SQL statement (Postgres) and returns its rows as text. Tables are found without their schema. It may take 10 seconds and return 32 MB. Views answer common questions: see describe_tables.',
      inputSchema: {
        sql: z.string(),
        rows: z.number().int().min(1).max(MOST_ROWS).default(200).describe('at most so many'),
      },
      annotations: READ_ONLY,
    },
    answer(({ sql, rows }) => query(sql, rows)),
  );
  server.registerTool(
    'describe_tables',
    {
      title: 'Describe the tables',
      description: 'Every table and view with its columns, their types and what they mean. Money is exact numeric.',
      inputSchema: {},
      annotations: READ_ONLY,
    },
    answer(async () => {
      const { rows } = await query(DESCRIBE, MOST_ROWS);
      return rows.map(([kind, name, comment, columns]) => ({
        kind,
        name,
        comment,
        columns: JSON.parse(columns ?? '{}'),
      }));
    }),
  );
  server.registerTool(
    'freshness',
    {
      title: 'How fresh and complete the data is',
      description:
        'For each list: whether all of it (or, with from and to, that range of dates) was read, and as of when it is proven equal to the source. An answer is only as good as this.',
      inputSchema: { from: day.optional(), to: day.optional() },
      annotations: READ_ONLY,
    },
    answer(async ({ from, to }) => {
      const { from: first, to: last } = parseRange(jobs, 'any', { from, to }, { from: 'from', to: 'to' });
      const { rows } = await database.query(
        `select resource, complete, as_of, (select count(*) from sluice.missing m where m.source = c.source and m.resource = c.resource)::int as missing,
          (select count(*) from sluice.quarantine q where q.source = c.source and q.resource = c.resource and resolved_at is null)::int as quarantined
        from sluice.complete(coalesce($2::date, '-infinity'), coalesce($3::date, 'infinity')) c where source = $1`,
        [sourceName, first, last],
      );
      return { now: new Date(await databaseNow(database)).toISOString(), lists: rows };
    }),
  );
  server.registerTool(
    'why_record',
    {
      title: 'The story of one record',
      description:
        'Whether a record equals the source and since when, which run and request brought it, its earlier versions, and why it is missing or in quarantine.',
      inputSchema: { resource, key: z.string().describe('its id') },
      annotations: READ_ONLY,
    },
    answer(async ({ resource: name, key }) => {
      const story = await readStory(database, listOf(name), key);
      const { text, rest } = recordVerdict(story, await databaseNow(database));
      return { verdict: `${text}. ${rest}`, ...story };
    }),
  );
  server.registerTool(
    'backfill_cost',
    {
      title: 'What a backfill would cost',
      description:
        'Requests and hours at the request limit for reading a list, or a range of its dates, again. Sends no request.',
      inputSchema: { resource, from: day.optional(), to: day.optional() },
      annotations: READ_ONLY,
    },
    answer(async ({ resource: name, from, to }) => {
      const range = parseRange(jobs, name, { from, to }, { from: 'from', to: 'to' });
      const { parts, neverRead, rows, requests } = await estimateReading(database, listOf(name), range);
      const { limit = 1, windowMs = HOUR } = settings.sources[0] ?? {};
      const hours = Math.round((requests / limit) * (windowMs / HOUR) * 100) / 100;
      return { resource: name, ...range, slices: parts.length, neverRead, rows, requests, hours };
    }),
  );
  if (!allowOrders) return;
  server.registerTool(
    'order_backfill',
    {
      title: 'Order a backfill',
      description: 'Has a list, or a range of its dates, read again. It spends requests: ask backfill_cost first.',
      inputSchema: { resource, from: day.optional(), to: day.optional() },
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    },
    answer(async ({ resource: name, from, to }) => {
      const range = parseRange(jobs, name, { from, to }, { from: 'from', to: 'to' });
      const order = await placeOrder(database, sourceName, {
        resource: name,
        kind: 'backfill',
        dateFrom: range.from,
        dateTo: range.to,
      });
      await wakeUp(database, sourceName);
      return { order: Number(order.id), state: order.state, service: await isServiceRunning(database, sourceName) };
    }),
  );
}

interface ToolAnswer {
  [key: string]: unknown;
  content: { type: 'text'; text: string }[];
  isError?: boolean;
}

/** The result as JSON; an error as text with the next step, for the model to read. */
const answerWith =
  (hide: (text: string) => string) =>
  <A>(work: (given: A) => Promise<unknown>) =>
  async (given: A): Promise<ToolAnswer> => {
    try {
      return { content: [{ type: 'text', text: JSON.stringify(await work(given), isoTimes) }] };
    } catch (error) {
      return { content: [{ type: 'text', text: hide(explain(error)) }], isError: true };
    }
  };
