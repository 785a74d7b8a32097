import { sql } from 'kysely';
import type { Db, Queryable } from '../database/database.ts';

export const POWERS_NEXT = 'Give Sluice a login of its own: docs/security.md, "Logins".';

/** How the login of a connection reaches the files and programs of the database server; null if it does not. */
export async function findPowers(database: Queryable): Promise<string | null> {
  const { rows } = await database.query<{ name: string; superuser: boolean; groups: string[] }>(POWERS);
  const [login] = rows;
  if (!login) return null;
  if (login.superuser) return `the login ${login.name} is a superuser of the database server`;
  if (login.groups.length === 0) return null;
  return `the login ${login.name} reaches files or programs of the database server (${login.groups.join(', ')})`;
}

const POWERS = `
  select rolname as name, rolsuper as superuser, array(
      select each.rolname::text from pg_roles each
      where each.rolname in ('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program')
        and pg_has_role(login.oid, each.oid, 'member')
      order by 1) as groups
  from pg_roles login where rolname = session_user`;

/** Connections with one of these names; a running service is recognised by them. */
export async function countConnections(db: Db, applicationNames: readonly string[]): Promise<number> {
  const { rows } = await sql<{ connections: number }>`
    select count(*)::integer as connections from pg_stat_activity where datname = current_database()
      and application_name = any(cast(${applicationNames} as text[]))`.execute(db);
  return rows[0]?.connections ?? 0;
}

export async function serverVersion(db: Db): Promise<string> {
  const { rows } = await sql<{ version: string }>`select current_setting('server_version') as version`.execute(db);
  return rows[0]?.version ?? '';
}
