import { sql } from 'kysely';
import type { Db, Transaction } from '../../database/database.ts';
import type { Table } from '../tables.ts';
import { changedRows, type Logged, logCtes, saysOther } from './change-log.ts';
import { type Altered, alteredChildren, replaceChildren } from './child-rows.ts';
import { emptiedFields, lacksChildren } from './emptied-fields.ts';
import type { Row } from './row.ts';
import {
  type Batch,
  columnsOf,
  flagged,
  groupByShape,
  hashesOf,
  isContent,
  keysOf,
  refs,
  steady,
  stored,
  unnested,
} from './row-batches.ts';
import { keepVersions, reviveRows } from './row-history.ts';

interface WriteContext {
  readonly resource: string;
  readonly runId: string | null;
  /** Compares every column and child row, even where a hash says they are equal. */
  readonly deep: boolean;
  /** What answers have brought since then was hardly altered by anyone else. Default: whatever is stored may have been. */
  readonly since?: string;
  /** The column that tells when the source last changed the row; null without one. */
  readonly updatedAt?: string | null;
  /** Most of the rows are stored and unchanged: a query tells which of them differ, and only those are written. Default false. */
  readonly mostlyStored?: boolean;
  /** A row stored within so many milliseconds before the answer was requested is not replaced by an older one. Default 0. */
  readonly lagMs?: number;
  /** Child rows may lie where a parent is inserted. Default false: they are not looked for, and fail the statement. */
  readonly orphans?: boolean;
  /** Rows that would empty stored values are not written, but returned as `losing`. Default false. */
  readonly sparesLosing?: boolean;
  /** Unknown fields whose changes alone change no row. Default: none. */
  readonly volatile?: readonly string[];
  /** How changes are logged. Default: they are not. */
  readonly logged?: Logged | undefined;
}

export interface WriteResult {
  inserted: string[];
  updated: string[];
  unchanged: number;
  /** Those of the inserted rows that had been deleted and are back as they were. */
  revived: string[];
  /** By key: the columns and child fields that hold something, and that the row would empty. */
  losing: Map<string, readonly string[]>;
  /**
   * Rows that may be stored otherwise than given: a newer answer brought them, or only their hash was compared, and what is stored may have been
   * altered since it was written.
   */
  unsure: string[];
  /** Stored rows that an answer without all fields shows otherwise; they were left as they are. */
  outdated: string[];
}

/**
 * Makes the stored rows equal to `rows`. Equal rows are not written: each row is compared through a lateral index look-up, where
 * `on conflict .. where is distinct from` would lock them all (239 MB of WAL for an unchanged re-read of a million rows). A stored row
 * that was read later than the given one is left unchanged.
 */
export async function writeRows(
  tx: Transaction,
  table: Table,
  rows: readonly Row[],
  context: WriteContext,
): Promise<WriteResult> {
  const result: WriteResult = {
    inserted: [],
    updated: [],
    unchanged: 0,
    revived: [],
    losing: new Map(),
    unsure: [],
    outdated: [],
  };
  // Grant times are texts that sort chronologically.
  const latest = new Map<string, Row>();
  for (const row of rows) {
    const other = latest.get(row.key);
    if (other !== undefined && !isSame(row, other)) result.unsure.push(row.key);
    if (other === undefined || supersedes(row, other)) latest.set(row.key, row);
  }
  const given = [...latest.values()];
  const isCompared = context.mostlyStored === true && !(table.hashed && context.deep);
  const different = isCompared ? await differing(tx.alone, table, given, context.volatile) : given;
  result.unchanged += given.length - different.length;
  if (different.length < given.length && comparesHashes(table, context)) {
    const others = new Set(different);
    result.unsure.push(...given.filter(row => !others.has(row)).map(({ key }) => key));
  }
  for (const batch of groupByShape(table, different)) {
    const findsAltered = context.deep || (context.logged !== undefined && table.hashed);
    const children = findsAltered ? await alteredChildren(tx, table, batch.rows) : null;
    const written = await writeBatch(tx, table, batch, children, context);
    const others = children ? written.updated.filter(key => children.altered.has(key)) : written.updated;
    await replaceChildren(tx, table, batch.rows, { ...written, updated: others }, context.orphans === true);
    result.inserted.push(...written.inserted);
    result.updated.push(...written.updated);
    for (const [key, fields] of written.losing) result.losing.set(key, fields);
    result.unsure.push(...written.unsure);
    result.outdated.push(...written.outdated);
    result.unchanged += batch.rows.length - written.inserted.length - written.updated.length - written.losing.length;
    if (written.returned.length > 0)
      result.revived.push(...(await reviveRows(tx, table, context.resource, written.returned, context.volatile)));
  }
  return result;
}

/** Whether rows are compared by their hashes alone. */
const comparesHashes = (table: Table, { deep }: WriteContext): boolean => table.hashed && !deep;

/** Whether both say the same of their row. */
const isSame = (row: Row, other: Row): boolean =>
  JSON.stringify({ ...row, readAt: null }) === JSON.stringify({ ...other, readAt: null });

/** The rows that are not stored as they are: by their hashes, or by all their columns where there are none. */
async function differing(
  db: Db,
  table: Table,
  rows: readonly Row[],
  volatile: WriteContext['volatile'],
): Promise<Row[]> {
  const different = new Set<string>();
  const key = sql.id(table.key.name);
  for (const batch of groupByShape(table, rows)) {
    const content = table.hashed
      ? [hashesOf(batch)]
      : columnsOf(table, batch).filter(({ name }) => isContent(table, name));
    const names = content.map(({ name }) => name);
    const { rows: found } = await sql<{ key: string }>`
      select i.${key}::text as key from ${unnested([keysOf(table, batch), ...content])} left join ${stored(table, 'i')} on true
      where t.${key} is null or (${steady('t', names, volatile)}) is distinct from (${steady('i', names, volatile)})`.execute(
      db,
    );
    for (const { key } of found) different.add(key);
  }
  return rows.filter(row => different.has(row.key));
}

const supersedes = (row: Row, other: Row): boolean =>
  row.onlyIfNew === other.onlyIfNew ? row.readAt >= other.readAt : other.onlyIfNew === true;

/** Columns that say which rows have other child rows than are stored, and in which these say something else. */
const ALTERED = '_altered';
const CHANGED = '_changed';
const ONLY_IF_NEW = '_only_if_new';

/** One statement: it compares, keeps the old versions, updates, inserts, and tells which of the inserted keys had been deleted (`returned`). */
async function writeBatch(
  tx: Db,
  table: Table,
  batch: Batch,
  /** Null where they were not compared. */
  children: Altered | null,
  context: WriteContext,
): Promise<{
  inserted: string[];
  updated: string[];
  returned: string[];
  losing: [string, string[]][];
  unsure: string[];
  outdated: string[];
}> {
  const target = sql.id(table.schema, table.name);
  const history = sql.id(table.schema, 'row_history');
  const key = sql.id(table.key.name);
  const data = columnsOf(table, batch);
  const emptied = context.sparesLosing ? emptiedFields(table, batch) : [];
  const { logged } = context;
  const input = [
    ...data,
    ...(logged
      ? [{ name: '_proven_at', type: 'timestamptz', values: batch.rows.map(row => logged.rowAsOf(row.key)) }]
      : []),
    ...flagged(batch, ALTERED, row => children?.altered.has(row.key) === true),
    ...flagged(batch, CHANGED, row => children?.changed.has(row.key) === true),
    ...flagged(batch, ONLY_IF_NEW, row => row.onlyIfNew === true),
    ...table.children.flatMap(({ field }) =>
      flagged(batch, lacksChildren(field), row => context.sparesLosing === true && row.children[field]?.length === 0),
    ),
  ];
  const isFlagged = (name: string, of = 'i') =>
    input.some(column => column.name === name) ? sql.ref(`${of}.${name}`) : sql`false`;
  const names = data.map(column => column.name);
  const content = names.filter(name => isContent(table, name));
  const compared = comparesHashes(table, context) ? ['_hash'] : content;
  const fields = content.filter(name => name !== '_hash');
  // A field that was given a column, or another version of Sluice, makes other hashes of the same rows. As texts: 1.50 is not 1.5.
  const isAlike =
    comparesHashes(table, context) && children
      ? sql`not ${isFlagged(ALTERED)} and row(${steady('t', fields, context.volatile)})::text = row(${steady('i', fields, context.volatile)})::text`
      : sql`false`;
  // A replica that lags behind shows the row as it was.
  const { updatedAt = null, lagMs = 0 } = context;
  const isOlder =
    updatedAt !== null && names.includes(updatedAt)
      ? sql`coalesce(${sql.ref(`i.${updatedAt}`)} < ${sql.ref(`t.${updatedAt}`)}
          and t._synced_at > i._read_at - make_interval(secs => ${lagMs / 1000}::float8), false)`
      : sql`false`;
  const differs = sql`c.known and c.is_other and not c.is_alike and not c.is_kept`;
  const isNewer = sql`c.is_other and (c.is_kept or c.known_read_at > c._read_at)`;
  const isUnsure = comparesHashes(table, context)
    ? sql`(${isNewer} or not c.is_other and c.known_read_at < cast(${context.since ?? 'infinity'} as timestamptz))`
    : isNewer;
  const spares = emptied.length > 0;
  const lostFields = emptied.map(({ field, loses }) => sql`case when ${loses} then ${field}::text end`);
  const lost = spares
    ? sql`, lost as materialized (
        select * from (select c.${key}, array_remove(array[${sql.join(lostFields)}], null) as fields
          from compared c, ${stored(table, 'c')}
          where ${differs} and c.known_read_at <= c._read_at) l
        where cardinality(fields) > 0)`
    : sql``;
  const isWritten = spares ? sql`${differs} and not exists (select from lost l where l.${key} = c.${key})` : differs;
  const changes = logged
    ? sql`changed as materialized (${changedRows(table, context, logged, { names, lines: isFlagged(CHANGED, 'c'), isWritten })}), ${logCtes(table, { ...context, at: sql`(select now from moment)` })}, `
    : sql``;
  const rehashed = comparesHashes(table, context)
    ? sql`, rehashed as (
      update ${target} t set _hash = c._hash from compared c
      where c.known and c.is_other and c.is_alike and not c.is_kept and t._read_at <= c._read_at and t.${key} = c.${key})`
    : sql``;
  const shown = fields.filter(name => name !== '_extra');
  const outdated =
    shown.length > 0 && batch.rows.some(row => row.onlyIfNew)
      ? sql`(select array_agg(c.${key}::text) from compared c join ${target} t on t.${key} = c.${key}
        where c.${sql.id(ONLY_IF_NEW)} and c.known_read_at <= c._read_at and (${saysOther(table, shown)}))`
      : sql`null`;
  const losing = spares ? sql`(select json_agg(json_build_array(${key}::text, fields)) from lost)` : sql`null`;

  const { rows } = await sql<{
    all: boolean;
    inserted: string[] | null;
    updated: string[] | null;
    returned: string[] | null;
    losing: [string, string[]][] | null;
    unsure: string[] | null;
    outdated: string[] | null;
  }>`
    with moment as materialized (select sluice.now() as now),
    input as (
      select * from ${unnested(input)}
    ), compared as (
      select i.*, t.${key} is not null as known, t._read_at as known_read_at,
        ${isFlagged(ONLY_IF_NEW)} or ${isOlder} as is_kept,
        ${context.deep ? isFlagged(ALTERED) : sql`false`} or (${steady('t', compared, context.volatile)}) is distinct from (${steady('i', compared, context.volatile)}) as is_other,
        ${isAlike} as is_alike
      from input i left join ${stored(table, 'i')} on true
    ) ${lost}, ${changes} kept as (
      ${keepVersions(table, context.resource, { by: 'changed', at: sql.ref('n.now'), runId: context.runId, number: logged ? sql`l.number` : sql`null` })}
      from compared c join ${target} t on t.${key} = c.${key} ${logged ? sql`left join numbered l on l.key = c.${key}::text` : sql``}, moment n
      where ${isWritten} and c.known_read_at <= c._read_at
    ), updated as (
      update ${target} t set ${sql.join([...content, '_read_at'].map(name => sql`${sql.id(name)} = c.${sql.id(name)}`))}, _synced_at = n.now
      from compared c, moment n where ${isWritten} and t._read_at <= c._read_at and t.${key} = c.${key}
      returning t.${key}
    )${rehashed}, inserted as (
      insert into ${target} (${sql.join(names.map(name => sql.id(name)))}, _synced_at)
      select ${refs('c', names)}, n.now from compared c, moment n where not c.known
      returning ${key}
    ), returned as (
      select distinct h.key from inserted i join ${history} h
        on h.resource = ${context.resource} and h.key = i.${key}::text and h.ended_by = 'deleted'
    )
    select a.all, case when not a.all then (select array_agg(${key}::text) from inserted) end as inserted,
      (select array_agg(${key}::text) from updated) as updated, (select array_agg(key) from returned) as returned, ${losing} as losing,
      (select array_agg(${key}::text) from compared c where c.known and ${isUnsure}) as unsure, ${outdated} as outdated
    from (select count(*) = ${batch.rows.length}::int as all from inserted) a`.execute(tx);
  const row = rows[0];
  // In a first load all of them are new: their keys need not come back.
  const inserted = row?.all ? batch.rows.map(({ key }) => key) : (row?.inserted ?? []);
  return {
    inserted,
    updated: row?.updated ?? [],
    returned: row?.returned ?? [],
    losing: row?.losing ?? [],
    unsure: row?.unsure ?? [],
    outdated: row?.outdated ?? [],
  };
}
