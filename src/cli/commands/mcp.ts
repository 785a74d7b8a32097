import { once } from 'node:events';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { Command } from 'commander';
import { VERSION } from '../../version.ts';
import { registerTools } from '../mcp/tools.ts';
import { applyMigrations } from '../run/pending-migrations.ts';
import { newCommand } from '../session/new-command.ts';
import { openQueryLogin } from '../session/open-query-login.ts';
import type { Cli, Session } from '../session/session.ts';

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
  const database = await session.openDatabase();
  await applyMigrations(session, database);
  const reader = await openQueryLogin(session);
  const server = new McpServer({ name: 'sluice', version: VERSION }, { instructions: INSTRUCTIONS });
  registerTools(server, { session, database, reader, allowOrders });
  await server.connect(new StdioServerTransport());
  // The client closes our standard input when it is done.
  await once(process.stdin, 'end', { signal: session.signal }).catch(() => undefined);
  await server.close();
  return 0;
}
