import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { cpuSeconds } from '../fleet-usage.ts';
import type { Postgres } from '../support/open-postgres.ts';
import type { SourceAddress } from '../support/open-source.ts';

export interface ConnectorTask {
  readonly source: SourceAddress;
  readonly url: string;
  readonly schema: string;
  readonly tables: readonly ConnectorTable[];
  /** One statement per row instead of one per page. */
  readonly perRow: boolean;
}

interface ConnectorTable {
  readonly name: string;
  readonly columns: readonly string[];
}

/** Reads the three large lists with the plain connector into tables of its own; items stay in their invoice as JSON. */
export async function runConnector(
  { url, database }: Postgres,
  source: SourceAddress,
  options: { perRow: boolean },
): Promise<{ requests: number; cpuMs: number }> {
  const schema = options.perRow ? 'plain_rows' : 'plain_pages';
  await database.query(`create schema ${schema}`);
  const tables = [];
  for (const name of ['customers', 'invoices', 'transactions'])
    tables.push({ name, columns: await createTable(database, schema, name) });
  const child = fork(fileURLToPath(new URL('plain-connector.ts', import.meta.url)));
  try {
    const pid = child.pid ?? 0;
    await once(child, 'message');
    const before = cpuSeconds(pid);
    child.send({ source, url, schema, tables, ...options } satisfies ConnectorTask);
    const [requests] = (await once(child, 'message')) as [number];
    return { requests, cpuMs: (cpuSeconds(pid) - before) * 1000 };
  } finally {
    child.kill();
  }
}

/** Creates a table for the fields of the source, without other indexes than its key; returns its columns. */
async function createTable(database: Postgres['database'], schema: string, name: string): Promise<string[]> {
  const { rows } = await database.query<{ column: string }>(
    `select column_name as column from information_schema.columns
    where table_schema = 'warehouse' and table_name = $1 and column_name not like '\\_%' order by ordinal_position`,
    [name],
  );
  const columns = rows.map(row => row.column);
  await database.query(
    `create table ${schema}.${name} as select ${columns.join()} from warehouse.${name} with no data`,
  );
  await database.query(`alter table ${schema}.${name} add primary key (id)`);
  if (name !== 'invoices') return columns;
  await database.query(`alter table ${schema}.invoices add column items jsonb`);
  return [...columns, 'items'];
}
