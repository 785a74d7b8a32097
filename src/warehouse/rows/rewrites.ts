import { type RawBuilder, sql } from 'kysely';
import type { Replaced } from '../../engine/deletion/rewrite.ts';
import { anyOf } from '../database/arrays.ts';
import type { Db } from '../database/database.ts';
import { daysAgo, NOW } from '../database/now.ts';
import { UNDO_DAYS } from '../ledgers/retention.ts';
import type { Place } from '../ledgers/sources.ts';
import type { ChildTable, Table } from './tables.ts';
import { childRows } from './write/row-history.ts';

// SQL: the tables are known at run time.

/** A field of which more values were replaced than people usually do, within 24 hours. `field`: the column, or the child field. */
export interface Rewrite {
  readonly field: string;
  /** Rows whose value is another than at `since`, and rows that hold one. */
  readonly rows: number;
  readonly stored: number;
  readonly looks: string | null;
  readonly examples: readonly Replaced[];
  /** The runs that replaced them. */
  readonly runIds: readonly string[];
  /** As Postgres writes it. */
  readonly since: string;
}

/** One that somebody was told of. */
export interface ToldRewrite extends Rewrite {
  readonly id: string;
  readonly source: string;
  readonly resource: string;
  readonly runId: string | null;
  readonly at: string;
  readonly endedAt: string | null;
}

const columns = [
  'id',
  'source',
  'resource',
  'field',
  'run_id as runId',
  'run_ids as runIds',
  'since',
  'at',
  'rows',
  'stored',
  'looks',
  'examples',
  'ended_at as endedAt',
] as const;

const told = (db: Db, source: string) =>
  db.selectFrom('sluice.rewrites').select(columns).where('source', '=', source).orderBy('id').$castTo<ToldRewrite>();

/** Those that nobody settled, as long as they can be undone; of one list, or of all. */
export function openRewrites(db: Db, source: string, resources: readonly string[]): Promise<ToldRewrite[]> {
  return told(db, source)
    .where('resource', '=', anyOf(resources))
    .where('ended_at', 'is', null)
    .where('at', '>', daysAgo(UNDO_DAYS))
    .execute();
}

/** What a list changed lately, as far as it says whether its fields have to be looked at. */
export interface LatelyChanged {
  /** 24 hours ago, as Postgres writes it. */
  readonly dayAgo: string;
  /** Earlier versions of its rows that ended since. */
  readonly versions: number;
  /** Rewrites that are open, and those that were settled since. */
  readonly told: readonly ToldRewrite[];
  /** Columns that were declared since: what was converted for them may be written otherwise than the source writes it. */
  readonly declared: readonly string[];
}

export async function readLatelyChanged(db: Db, table: Table, { source, resource }: Place): Promise<LatelyChanged> {
  const { rows } = await sql<Omit<LatelyChanged, 'told'>>`
    select d.ago as "dayAgo", (select count(*)::int from ${changedSince(table, resource, sql`d.ago`)}) as versions,
      ${declaredLately(table, table.name)} as declared
    from (select ${daysAgo(1)} as ago) d`.execute(db);
  const lastDay = rows[0] as Omit<LatelyChanged, 'told'>;
  const ofList = told(db, source).where('resource', '=', resource);
  const lately = await ofList
    .where(eb =>
      eb.or([
        eb.and([eb('ended_at', 'is', null), eb('at', '>', daysAgo(UNDO_DAYS))]),
        eb('ended_at', '>', lastDay.dayAgo),
      ]),
    )
    .execute();
  return { ...lastDay, told: lately };
}

/** Columns of one of its tables that were declared, or given another type, within 24 hours. */
const declaredLately = ({ schema }: Table, name: string): RawBuilder<unknown> =>
  sql`array(select field from sluice.declared_fields where schema = ${schema} and table_name = ${name} and declared_at > ${daysAgo(1)})`;

const changedSince = (table: Table, resource: string, since: RawBuilder<unknown>) =>
  sql`${sql.id(table.schema, 'row_history')} h where h.resource = ${resource} and h.ended_by = 'changed' and h.valid_to > ${since}`;

/** So many versions are compared; of more, a sample of about as many, evenly spread over the keys. */
const MOST_COMPARED = 20_000;

/** Rows that were different at `since`: `r` as they were, `t` as they are, `f` the version. */
function comparedSince(table: Table, resource: string, since: string, oneIn: number): RawBuilder<unknown> {
  const target = sql.id(table.schema, table.name);
  const sample = oneIn > 1 ? sql`and mod(('x' || left(md5(h.key), 7))::bit(28)::int, ${oneIn}::int) = 0` : sql``;
  return sql`(select distinct on (h.key) h.key, h.row from ${changedSince(table, resource, sql`cast(${since} as timestamptz)`)} ${sample}
      order by h.key, h.valid_to) f
    join ${target} t on t.${sql.id(table.key.name)} = cast(f.key as ${sql.raw(table.key.type)})
    cross join lateral jsonb_populate_record(null::${target}, f.row) r`;
}

/** What a field held, and holds, as text. */
function valuesOf(table: Table, field: string): { before: RawBuilder<unknown>; after: RawBuilder<unknown> } {
  const child = table.children.find(each => each.field === field);
  return child
    ? {
        before: linesOf(table, child, sql`f.row->${field}::text`),
        after: linesOf(table, child, childRows(table, child)),
      }
    : {
        before: sql`nullif(${sql.ref(`r.${field}`)}::text, '')`,
        after: sql`nullif(${sql.ref(`t.${field}`)}::text, '')`,
      };
}

/**
 * Child rows as text, in the columns that any of the earlier ones fills and that were not declared lately: others may be written otherwise since.
 * Without their order and what they lack, as a source may show the same lines in one order now, in another then; null without any.
 */
function linesOf(table: Table, { name, field, columns }: ChildTable, lines: RawBuilder<unknown>): RawBuilder<unknown> {
  const earlier = sql`f.row->${field}::text`;
  const own = sql`cast(${columns.map(column => column.name)} as text[])`;
  const others = sql`(select array['line', '_extra'] || ${declaredLately(table, name)}
    || array(select k from jsonb_object_keys(${earlier}->0) k where k <> all(${own}))
    || array(select k from unnest(${own}) k where not exists (
      select from jsonb_array_elements(${earlier}) b where b->k <> 'null')) as names) others`;
  return sql`(select jsonb_agg(l order by l)::text from (
    select jsonb_strip_nulls(e - others.names) as l from ${others} cross join jsonb_array_elements(${lines}) e) each)`;
}

function isReplaced(table: Table, field: string): RawBuilder<boolean> {
  const { before, after } = valuesOf(table, field);
  // Null where either holds nothing: then something was lost, or came.
  return sql<boolean>`(${before} <> ${after})`;
}

/** By field: in how many rows another value stands than at `since`; where many changed, extrapolated from a sample. */
export async function countReplaced(
  db: Db,
  table: Table,
  { resource, fields, since }: { resource: string; fields: readonly string[]; since: string },
): Promise<ReadonlyMap<string, number>> {
  const changed = changedSince(table, resource, sql`cast(${since} as timestamptz)`);
  const { rows: found } = await sql<{ versions: number }>`select count(*)::int as versions from ${changed}`.execute(db);
  const oneIn = Math.max(Math.ceil((found[0]?.versions ?? 0) / MOST_COMPARED), 1);
  const counts = fields.map(field => sql`count(*) filter (where ${isReplaced(table, field)})::int`);
  const { rows } = await sql<{ counts: number[] }>`
    select array[${sql.join(counts)}] as counts from ${comparedSince(table, resource, since, oneIn)}`.execute(db);
  return new Map(fields.map((field, index) => [field, (rows[0]?.counts[index] ?? 0) * oneIn]));
}

/** By field: how many rows hold something. It reads the whole table. */
export async function countStored(
  db: Db,
  table: Table,
  fields: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const counts = fields.map(field => {
    const child = table.children.find(each => each.field === field);
    return child
      ? sql`(select count(distinct ${sql.id(child.parent)})::int from ${sql.id(table.schema, child.name)})`
      : sql`count(nullif(${sql.id(field)}::text, ''))::int`;
  });
  const { rows } = await sql<{ counts: number[] }>`
    select array[${sql.join(counts)}] as counts from ${sql.id(table.schema, table.name)}`.execute(db);
  return new Map(fields.map((field, index) => [field, rows[0]?.counts[index] ?? 0]));
}

/** The exact number, the runs, and `most` of the pairs. */
export async function readReplaced(
  db: Db,
  table: Table,
  { resource, field, since, most }: { resource: string; field: string; since: string; most: number },
): Promise<Pick<Rewrite, 'rows' | 'runIds'> & { readonly pairs: readonly Replaced[] }> {
  const { before, after } = valuesOf(table, field);
  const { rows } = await sql<{ rows: number; runIds: string[]; pairs: Replaced[] }>`
    with replaced as materialized (select f.key, ${before} as before, ${after} as after
      from ${comparedSince(table, resource, since, 1)} where ${isReplaced(table, field)})
    select (select count(*)::int from replaced) as rows,
      (select coalesce(array_agg(distinct h.run_id::text), '{}') from ${changedSince(table, resource, sql`cast(${since} as timestamptz)`)}
        and h.run_id is not null and h.key in (select key from replaced)) as "runIds",
      (select coalesce(jsonb_agg(to_jsonb(p)), '[]') from (select * from replaced order by md5(key) limit ${most}) p) as pairs`.execute(
    db,
  );
  return rows[0] as { rows: number; runIds: string[]; pairs: Replaced[] };
}

/** Keeps note of a rewrite that is told; `endedBy`: it was settled before. */
export async function noteRewrite(
  db: Db,
  { source, resource }: Place,
  { field, rows, stored, looks, examples, runIds, since }: Rewrite,
  { runId, endedBy = null }: { runId: string; endedBy?: 'accepted' | null },
): Promise<void> {
  await db
    .insertInto('sluice.rewrites')
    .values({
      ...{ source, resource, field, run_id: runId, since, rows, stored, looks },
      run_ids: runIds,
      examples: JSON.stringify(examples),
      at: NOW,
      ended_at: endedBy === null ? null : NOW,
      ended_by: endedBy,
    })
    .execute();
}

export async function settleRewrites(
  db: Db,
  { source, resource }: Place,
  fields: readonly string[],
  endedBy: 'accepted' | 'undone' | 'reverted',
): Promise<void> {
  await db
    .updateTable('sluice.rewrites')
    .set({ ended_at: NOW, ended_by: endedBy })
    .where('source', '=', source)
    .where('resource', '=', resource)
    .where('field', '=', anyOf(fields))
    .where('ended_at', 'is', null)
    .execute();
}
