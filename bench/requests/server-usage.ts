import { serverCpuSeconds } from '../fleet-usage.ts';
import type { Postgres } from '../support/open-postgres.ts';

/** What a server did so far. */
export interface ServerUsage {
  /** Of the owner: everything that Sluice sends, `begin` and `commit` included, and a few of the bench. */
  readonly statements: number;
  /** Transactions of the database. */
  readonly commits: number;
  readonly cpuMs: number;
}

/** The settings that let a server count its statements. */
export const COUNTING = { shared_preload_libraries: 'pg_stat_statements' };

export async function readUsage({ admin, url, pid }: Postgres): Promise<ServerUsage> {
  await admin.query('create extension if not exists pg_stat_statements');
  const { rows } = await admin.query<{ statements: number; commits: number }>(
    `select (select coalesce(sum(calls), 0) from pg_stat_statements where userid = $1::regrole)::float8 as statements,
      (select xact_commit from pg_stat_database where datname = current_database())::float8 as commits`,
    [new URL(url).username],
  );
  return { statements: rows[0]?.statements ?? 0, commits: rows[0]?.commits ?? 0, cpuMs: serverCpuSeconds(pid) * 1000 };
}
