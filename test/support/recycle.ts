import type pg from 'pg';

// Emptying a database takes a fifth of the time of dropping it and cloning the template once more.

/** What a test leaves as it was, or its database cannot be used again: all definitions, rights, settings and statistics, and the rows of the template. */
export interface Original {
  readonly catalogs: string;
  /** The tables that have rows in the template, and what they hold. */
  readonly filled: ReadonlyMap<string, string>;
}

/** Catalogs of one database that an emptied table does not touch. */
const CATALOGS = [
  'pg_am',
  'pg_attrdef',
  'pg_attribute',
  'pg_cast',
  'pg_collation',
  'pg_constraint',
  'pg_default_acl',
  'pg_depend',
  'pg_description',
  'pg_event_trigger',
  'pg_extension',
  'pg_index',
  'pg_inherits',
  'pg_language',
  'pg_largeobject_metadata',
  'pg_namespace',
  'pg_operator',
  'pg_policy',
  'pg_proc',
  'pg_publication',
  'pg_rewrite',
  'pg_sequence',
  'pg_trigger',
  'pg_type',
];

/** A row that is written anew has a later `xmin`. */
const MARKS = CATALOGS.map(
  name => `select '${name}' as catalog, count(*) || ':' || coalesce(max(xmin::text::bigint), 0) as mark from ${name}`,
).join(' union all ');

/** Emptying gives tables new files, but changes nothing of this. */
const CATALOG_MARK = `select md5(string_agg(catalog || mark, ' ' order by catalog)) as mark from (${MARKS}
  union all select 'pg_class', string_agg(concat_ws(':', oid, relname, relnamespace, relkind, relowner, relacl, reloptions, relreplident, relpersistence, relrowsecurity), ' ' order by oid)
    from pg_class where oid >= 16384
  union all select 'pg_database', concat_ws(':', datacl, datdba, datconnlimit) from pg_database where datname = current_database()
  union all select 'pg_db_role_setting', count(*)::text from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase where datname = current_database()
  union all select 'pg_replication_slots', count(*)::text from pg_replication_slots where database = current_database()
  union all select 'pg_prepared_xacts', count(*)::text from pg_prepared_xacts where database = current_database()
  union all select 'pg_statistic', count(*)::text from pg_stats where schemaname not in ('pg_catalog', 'information_schema')) m`;

const FILLED = `select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind = 'r' and c.oid >= 16384 and n.nspname not like 'pg_%' and pg_relation_size(c.oid) > 0 order by 1`;

async function catalogsOf(client: pg.ClientBase): Promise<string> {
  const { rows } = await client.query<{ mark: string }>(CATALOG_MARK);
  return rows[0]?.mark ?? '';
}

async function filledTables(client: pg.ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(FILLED);
  return rows.map(({ name }) => name);
}

async function contentOf(client: pg.ClientBase, tables: readonly string[]): Promise<Map<string, string>> {
  if (tables.length === 0) return new Map();
  const each = tables.map(
    name =>
      `select '${name}' as name, md5(coalesce(string_agg(t::text, ' ' order by t::text), '')) as mark from ${name} t`,
  );
  const { rows } = await client.query<{ name: string; mark: string }>(each.join(' union all '));
  return new Map(rows.map(({ name, mark }) => [name, mark]));
}

/** Of a fresh clone. */
export async function originalOf(client: pg.ClientBase): Promise<Original> {
  return { catalogs: await catalogsOf(client), filled: await contentOf(client, await filledTables(client)) };
}

/** Empties a database that a test has used; false if it differs from the original in more than rows, and is to be dropped. */
export async function emptyAgain(client: pg.ClientBase, original: Original): Promise<boolean> {
  if ((await catalogsOf(client)) !== original.catalogs) return false;
  const used = (await filledTables(client)).filter(name => !original.filled.has(name));
  if (used.length > 0) await client.query(`truncate ${used.join(', ')} cascade`);
  await client.query('select setval(seqrelid::regclass, seqstart, false) from pg_sequence');
  const content = await contentOf(client, [...original.filled.keys()]);
  return [...original.filled].every(([name, mark]) => content.get(name) === mark);
}
