import { hash } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import { sliceText } from '../../engine/slices/slice.ts';
import type { Db } from '../database/database.ts';
import { forgetExamples } from '../database/forget-list.ts';
import { NOW } from '../database/now.ts';
import { takeOver } from '../ledgers/cursors.ts';
import type { Place } from '../ledgers/sources.ts';
import { eraseSealed } from '../rows/seals.ts';
import type { Table } from '../rows/tables.ts';
import { eraseLogged } from '../rows/write/change-log.ts';

export type Counts = Record<string, number>;

type Erased = readonly [schema: string, name: string, where: RawBuilder<unknown>];

/**
 * Erases a row, its child rows, its history and what the bookkeeping holds under its key; returns the rows of each table. The cursor gets
 * a new version, so that no reading that began before can bring the row back. SQL: tables known at run time.
 */
export async function eraseRow(tx: Db, table: Table, place: Place, key: string): Promise<Counts> {
  const { source, resource } = place;
  const counts: Counts = {};
  const stored = sql`cast(${key} as ${sql.raw(table.key.type)})`;
  const here = sql`source = ${source} and resource = ${resource}`;
  const slice = sliceText({ by: 'one', key });
  const rows: readonly Erased[] = [
    ...table.children.map(({ name, parent }) => [table.schema, name, sql`${sql.id(parent)} = ${stored}`] as const),
    [table.schema, table.name, sql`${sql.id(table.key.name)} = ${stored}`],
    [table.schema, 'row_history', sql`resource = ${resource} and key = ${key}`],
    ...['quarantine', 'row_windows', 'missing', 'held'].map(
      name => ['sluice', name, sql`${here} and key = ${key}`] as const,
    ),
  ];
  const readings: readonly Erased[] = ['hints', 'coverage'].map(
    name => ['sluice', name, sql`${here} and slice = ${slice}`] as const,
  );
  const erase = async (places: readonly Erased[]) => {
    for (const [schema, name, where] of places) {
      const { numAffectedRows } = await sql`delete from ${sql.id(schema, name)} where ${where}`.execute(tx);
      if (numAffectedRows) counts[`${schema}.${name}`] = Number(numAffectedRows);
    }
  };
  // In the order of commits: rows, the cursor, what is known of slices.
  await erase(rows);
  await detachReadings(tx, place, key, slice);
  await erase(readings);
  const logged = await eraseLogged(tx, { schema: table.schema, resource }, key);
  if (logged > 0) counts[`${table.schema}.change_log`] = logged;
  // Of its rows in closed months, the hashes stay, so that their digests can still be checked.
  const sealed = await eraseSealed(tx, { schema: table.schema, resource }, key);
  if (sealed > 0) counts['sluice.sealed_rows'] = sealed;
  // Their keys may be a run of ids that holds it.
  await sql`delete from sluice.answers where ${here}`.execute(tx);
  await forgetExamplesOf(tx, place, key);
  return counts;
}

/** Values of the row that a rewrite gave as examples, in its row and in what runs, orders and incidents said of it. */
async function forgetExamplesOf(tx: Db, { source, resource }: Place, key: string): Promise<void> {
  const here = sql`source = ${source} and resource = ${resource}`;
  const { numAffectedRows } = await sql`update sluice.rewrites set examples = (
      select coalesce(jsonb_agg(e), '[]') from jsonb_array_elements(examples) e where e->>'key' <> ${key})
    where ${here} and examples @> cast(${JSON.stringify([{ key }])} as jsonb)`.execute(tx);
  if (numAffectedRows) await forgetExamples(tx, here);
}

/** Readings under way begin again, since they may have seen the row; purposes, positions and reports no longer name it. */
async function detachReadings(tx: Db, { source, resource }: Place, key: string, slice: string): Promise<void> {
  const named = JSON.stringify(key);
  const here = sql`source = ${source} and resource = ${resource}`;
  await takeOver(tx, { source, resource });
  await sql`update sluice.cursors set position = nullif(position, ${slice}) where ${here}`.execute(tx);
  const range = `id ${key}..${key}`;
  // A refresh of nothing else has nothing left to read.
  await sql`with named as (select id, array_remove(array_remove(targets, ${slice}), ${range}) as others from sluice.orders
      where ${here} and targets && array[${slice}, ${range}])
    update sluice.orders o set targets = n.others,
      state = case when o.ended_at is null and n.others = '{}' then 'cancelled' else o.state end,
      ended_at = case when n.others = '{}' then coalesce(o.ended_at, ${NOW}) else o.ended_at end
    from named n where o.id = n.id`.execute(tx);
  await sql`update sluice.orders set report = null where ${here} and position(${named} in report::text) > 0`.execute(
    tx,
  );
  await sql`update sluice.requests set purpose = null where source = ${source} and purpose in (${`${resource} ${slice}`}, ${`${resource} ${range}`})`.execute(
    tx,
  );
  await sql`update sluice.traits set evidence = '(erased)' where ${here} and position(${`row ${key},`} in evidence) > 0`.execute(
    tx,
  );
}

/** Texts that may quote a source's message. */
const MESSAGES: Readonly<Record<string, readonly string[]>> = {
  runs: ['reason', 'next'],
  orders: ['reason'],
  incidents: ['message', 'next'],
  traits: ['evidence', 'value'],
  pushes: ['reason'],
};

/** Erases the records in quarantine without a readable key that hold the key or one of `marks`, and `marks` from all messages. */
export async function eraseMentions(
  tx: Db,
  place: Place,
  record: { keyField: string; key: string; marks: readonly string[] },
): Promise<Counts> {
  const counts: Counts = {};
  const { source, resource } = place;
  const key = record.key.replaceAll(/[^\p{L}\p{N}]/gu, '\\$&');
  const holdsKey = `"${record.keyField}"\\s*:\\s*"?${key}"?\\s*[,}\\]]`;
  const marks = [...record.marks];
  const { numAffectedRows } = await sql`
    delete from sluice.quarantine where source = ${source} and resource = ${resource} and key like '?%'
      and (payload ~ ${holdsKey} or exists (select from unnest(cast(${marks} as text[])) m(mark)
        where position(lower(mark) in lower(payload)) > 0 or position(lower(substr(to_jsonb(mark)::text, 2, length(to_jsonb(mark)::text) - 2)) in lower(payload)) > 0))`.execute(
    tx,
  );
  if (numAffectedRows) counts['sluice.quarantine'] = Number(numAffectedRows);
  for (const [table, columns] of Object.entries(MESSAGES)) {
    for (const column of columns) {
      // Other values are words of ours.
      const kind = column === 'value' ? sql`trait = 'drift'` : sql`true`;
      for (const mark of marks) {
        const { numAffectedRows: changed } = await sql`
          update ${sql.id('sluice', table)} set ${sql.id(column)} = regexp_replace(${sql.id(column)}, ${literal(mark)}, '(erased)', 'gi')
          where source = ${source} and ${kind} and position(lower(${mark}) in lower(${sql.id(column)})) > 0`.execute(
          tx,
        );
        if (changed) counts[`sluice.${table}`] = (counts[`sluice.${table}`] ?? 0) + Number(changed);
      }
    }
  }
  return counts;
}

/** A regular expression that matches exactly the text. */
const literal = (text: string): string => text.replaceAll(/[^\p{L}\p{N}\s]/gu, '\\$&');

/**
 * Empties the pushed lines of a record: those that became its row, and those without a row that hold one of its `contacts` or `names`. Lines
 * of `unlisted` resources never have a row: they are emptied by `contacts`. Hashes and states stay. Returns how many were emptied. SQL: it
 * looks into JSON.
 */
export async function eraseLines(
  tx: Db,
  { source, resource }: Place,
  record: { key: string; contacts: readonly string[]; names: readonly string[]; unlisted: readonly string[] },
): Promise<number> {
  const { key, contacts, names, unlisted } = record;
  const holds = (marks: readonly string[]) => sql`exists (select from jsonb_each_text(i.body) b
    where lower(trim(b.value)) = any(cast(${marks.map(mark => mark.toLowerCase())} as text[])))`;
  const { numAffectedRows } = await sql`
    update sluice.push_items i set body = '{}', message = null, row_key = null, source_id = null
    where source = ${source} and (
      resource = ${resource} and (row_key = ${key} or source_id = ${key})
      or resource = ${resource} and row_key is null and ${holds([...contacts, ...names])}
      or resource = any(cast(${unlisted} as text[])) and ${holds(contacts)})`.execute(tx);
  return Number(numAffectedRows ?? 0);
}

/** SHA-256 of the source, the resource and the key, with a blank between them. */
const keyHashOf = ({ source, resource }: Place, key: string): string => hash('sha256', `${source} ${resource} ${key}`);

/** Proof that a record was erased. It holds nothing of the record but a hash of its key. `counts`: rows erased or emptied, by table. */
export async function writeReceipt(
  tx: Db,
  place: Place,
  erased: { key: string; counts: Readonly<Record<string, number>>; by: string },
) {
  const { key, counts, by } = erased;
  const keyHash = keyHashOf(place, key);
  const { id, erased_at: erasedAt } = await tx
    .insertInto('sluice.erasures')
    .values({ ...place, key_hash: keyHash, counts: JSON.stringify(counts), erased_at: NOW, erased_by: by })
    .returning(['id', 'erased_at'])
    .executeTakeFirstOrThrow();
  return { id, keyHash, counts, erasedAt, erasedBy: by };
}

/** When a record with this key was last erased; null if none was. */
export async function lastErased(db: Db, place: Place, key: string): Promise<string | null> {
  const row = await db
    .selectFrom('sluice.erasures')
    .select('erased_at')
    .where(eb => eb.and({ source: place.source, resource: place.resource, key_hash: keyHashOf(place, key) }))
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.erased_at ?? null;
}
