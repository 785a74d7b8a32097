import { sql } from 'kysely';
import type { Database, Db } from '../database/database.ts';

/** A table or view, and the schema that it is in. */
interface Relation {
  readonly schema: string;
  readonly name: string;
}

/** What Sluice keeps in a database, and what others have there that depends on it. */
export interface Kept {
  /** Of the warehouses: those that the bookkeeping knows, and those given in which Sluice wrote. */
  readonly schemas: readonly string[];
  /** The tables of the warehouses; those of the bookkeeping are all that its schema holds. */
  readonly tables: readonly (Relation & { readonly rows: number })[];
  readonly bytes: number;
  /** Views that read one of them, in whichever schema: they cannot stay without it. */
  readonly views: readonly Relation[];
  /** Tables of others whose foreign keys refer to one of them: they stay, without these keys. */
  readonly referring: readonly Relation[];
  /** Publications that name one of them. */
  readonly publications: readonly string[];
  /** Logins that may read the bookkeeping, without its owner. */
  readonly logins: readonly string[];
  /** Addresses that were registered at sources, without their secrets. */
  readonly webhooks: readonly string[];
}

const BOOKKEEPING = 'sluice';

const HISTORY = ['resource', 'key', 'row', 'valid_to'];
const LOG = ['number', 'resource', 'key', 'seen_at'];

/** The relation `c` has these columns. */
const has = (names: readonly string[]) => sql`(select count(*) from pg_attribute a
  where a.attrelid = c.oid and not a.attisdropped and a.attname = any(${names})) = ${names.length}`;

/** What every schema of a warehouse holds. */
const isLog = sql`(c.relname = 'row_history' and ${has(HISTORY)} or c.relname = 'change_log' and ${has(LOG)})`;

/** A table of a warehouse, also one of a job that there is no more. Others may have tables of the same name, which lack our columns. */
const isOurs = (schemas: readonly string[], children: readonly string[]) => sql<boolean>`
  c.relkind::text in ('r', 'p') and (n.nspname = ${BOOKKEEPING} or n.nspname = any(${schemas}) and (
    ${has(['_read_at', '_synced_at'])} or c.relname = any(${children}) and ${has(['line', '_extra'])} or ${isLog}))`;

/** `declared`: names of the child tables that jobs declare, of which each schema may hold some. SQL: the catalog, and tables that may be absent. */
export async function findKept(db: Db, given: readonly string[], declared: readonly string[]): Promise<Kept> {
  const known = await columnOf(db, 'sources', 'schema');
  // Settings may name a schema that only others use.
  const { rows: written } = await sql<{ schema: string }>`
    select distinct n.nspname as schema from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = any(${given}) and ${isLog}`.execute(db);
  const schemas = [...new Set([...known, ...written.map(({ schema }) => schema)])].sort();
  const webhooks = await columnOf(db, 'webhooks', 'url');
  // Those of lists whose file was deleted.
  const children = await columnOf(db, 'declared_fields', 'child_table');
  const { rows } = await sql<Omit<Kept, 'tables' | 'schemas' | 'webhooks'> & { tables: Relation[] }>`
    with recursive ours as materialized (
      select c.oid, n.nspname as schema, c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where ${isOurs(schemas, [...declared, ...children])}),
    reading as (
      select r.ev_class as oid from ours o
      join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = o.oid and d.classid = 'pg_rewrite'::regclass
      join pg_rewrite r on r.oid = d.objid
      union
      select r.ev_class from reading v
      join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = v.oid and d.classid = 'pg_rewrite'::regclass
      join pg_rewrite r on r.oid = d.objid),
    named as (
      select n.nspname as schema, c.relname as name, c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace)
    select
      coalesce((select json_agg(json_build_object('schema', schema, 'name', name) order by schema, name)
        from ours where schema <> ${BOOKKEEPING}), '[]') as tables,
      (select coalesce(sum(pg_total_relation_size(oid)), 0)::float8 from ours) as bytes,
      coalesce((select json_agg(json_build_object('schema', schema, 'name', name) order by schema, name)
        from named where oid in (select oid from reading) and schema <> ${BOOKKEEPING}), '[]') as views,
      coalesce((select json_agg(json_build_object('schema', schema, 'name', name) order by schema, name)
        from named where oid in (select conrelid from pg_constraint where contype = 'f' and confrelid in (select oid from ours))
          and oid not in (select oid from ours)), '[]') as referring,
      array(select distinct p.pubname::text from pg_publication p
        join pg_publication_rel r on r.prpubid = p.oid where r.prrelid in (select oid from ours) order by 1) as publications,
      array(select distinct a.grantee::regrole::text from pg_namespace n, aclexplode(n.nspacl) a
        where n.nspname = ${BOOKKEEPING} and a.grantee not in (0, n.nspowner) order by 1) as logins`.execute(db);
  const found = rows[0] as (typeof rows)[number];
  const tables: Kept['tables'][number][] = [];
  for (const table of found.tables) {
    const counted = await sql<{ rows: number }>`
      select count(*)::float8 as rows from ${sql.id(table.schema, table.name)}`.execute(db);
    tables.push({ ...table, rows: counted.rows[0]?.rows ?? 0 });
  }
  return { ...found, schemas, webhooks, tables };
}

/** The values of a column of the bookkeeping, each once; none where its table is not there. */
async function columnOf(db: Db, name: string, column: string): Promise<string[]> {
  const table = sql.id(BOOKKEEPING, name);
  const { rows: tables } =
    await sql`select from pg_tables where schemaname = ${BOOKKEEPING} and tablename = ${name}`.execute(db);
  if (tables.length === 0) return [];
  const { rows } = await sql<{ value: string }>`
    select distinct ${sql.id(column)} as value from ${table} where ${sql.id(column)} is not null order by 1`.execute(
    db,
  );
  return rows.map(({ value }) => value);
}

/** The other databases of the server, such as that of the demo. */
export async function otherDatabases(db: Db): Promise<{ name: string; bytes: number }[]> {
  const { rows } = await sql<{ name: string; bytes: number }>`
    select datname as name, pg_database_size(oid)::float8 as bytes from pg_database
    where not datistemplate and datname not in (current_database(), 'postgres') order by 1`.execute(db);
  return rows;
}

/** Names of the other programs of Sluice that are connected now: to this database, or to any of the server. */
export async function connectedPrograms(db: Db, own: string, to: 'database' | 'server'): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select distinct application_name as name from pg_stat_activity
    where (datname = current_database() or ${to === 'server'}) and application_name like 'sluice%' and application_name <> ${own} order by 1`.execute(
    db,
  );
  return rows.map(({ name }) => name);
}

/**
 * Removes what Sluice keeps, with the views that read it, in one transaction. A schema that then still holds something of others stays, and
 * "public" always; returns these.
 */
export function removeKept(database: Database, { schemas, tables: kept }: Kept): Promise<string[]> {
  return database.transaction(async tx => {
    // Whoever reads one of them now and does not end must not block all others behind us.
    await tx.query("set local lock_timeout = '10s'");
    const tables = kept.map(({ schema, name }) => sql.id(schema, name));
    if (tables.length > 0) await sql`drop table ${sql.join(tables)} cascade`.execute(tx);
    await sql`drop schema if exists ${sql.id(BOOKKEEPING)} cascade`.execute(tx);
    const { rows: used } = await sql<{ schema: string }>`
      select n.nspname as schema from pg_namespace n where n.nspname = any(${schemas}) and (n.nspname = 'public' or exists (
        select from pg_depend d where d.refclassid = 'pg_namespace'::regclass and d.refobjid = n.oid and d.deptype = 'n'))`.execute(
      tx,
    );
    const left = used.map(({ schema }) => schema);
    for (const schema of schemas)
      if (!left.includes(schema)) await sql`drop schema if exists ${sql.id(schema)}`.execute(tx);
    return left;
  });
}
