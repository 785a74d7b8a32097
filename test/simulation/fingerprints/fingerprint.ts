import { createHash } from 'node:crypto';
import type { Sandbox } from '../../../sandbox/sandbox.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { runSeed } from '../play/run-seed.ts';
import type { Server } from '../play/server.ts';

/** The behaviour of a seed played one request at a time. Equal fingerprints mean equal behaviour. */
export interface Fingerprint {
  readonly seed: number;
  readonly requests: number;
  /** Digest of the requests in order, with their statuses. */
  readonly log: string;
  /** Digest of all data tables and the bookkeeping, without times and counters. */
  readonly tables: string;
}

/** Columns that hold a time, an internal counter, or a value derived from those. */
const VOLATILE = ['_synced_at', '_read_at', 'valid_from', 'valid_to', 'run_id', '_hash'];

const BOOKKEEPING = [
  'select resource, slice, rows, proven_at is not null as proven from sluice.coverage',
  'select resource, trait, value from sluice.traits',
  'select resource, key, slice from sluice.missing',
  'select resource, key from sluice.quarantine where resolved_at is null',
];

export async function fingerprint(server: Server, seed: number): Promise<Fingerprint & { lines: string[] }> {
  let requests: string[] = [];
  let tables = '';
  const { problems } = await runSeed(server, seed, { sequential: true }, undefined, async (database, sandbox) => {
    requests = requestsOf(sandbox);
    tables = await tablesOf(database);
  });
  if (problems.length > 0) throw new Error(`seed ${seed}: ${problems.join('\n')}`);
  return { seed, requests: requests.length, log: digest(requests.join('\n')), tables: digest(tables), lines: requests };
}

const requestsOf = (sandbox: Sandbox): string[] =>
  sandbox.stats.requests.map(({ method, path, status }) => `${status} ${method} ${path}`);

async function tablesOf(database: Database): Promise<string> {
  const { rows: tables } = await database.query<{ name: string }>(
    "select quote_ident(tablename) as name from pg_tables where schemaname = 'warehouse' order by 1",
  );
  const volatile = VOLATILE.map(name => `'${name}'`).join(', ');
  const queries = [
    ...tables.map(({ name }) => `select '${name}', to_jsonb(t) - array[${volatile}] from warehouse.${name} t`),
    ...BOOKKEEPING,
  ];
  const parts: string[] = [];
  for (const query of queries) {
    const { rows } = await database.query<{ text: string }>(
      `select coalesce(string_agg(r::text, chr(10) order by r::text), '') as text from (${query}) r`,
    );
    parts.push(rows[0]?.text ?? '');
  }
  return parts.join('\n\n').replaceAll(MOMENT, 'T');
}

/** A moment within a day, to the millisecond: no two plays agree on it. */
const MOMENT = /\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)/g;

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16);
