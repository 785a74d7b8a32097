import { type RawBuilder, sql } from 'kysely';
import { SluiceError } from '../../errors.ts';
import type { Db } from './database.ts';
import type { Declared, DeclaredMask, DeclaredTable } from './declared-table.ts';
import { forgetExamples } from './forget-list.ts';
import { forgetStatistics } from './forget-statistics.ts';
import { forgetFields } from './put-back.ts';

/** Rows erased or hashed, by table. */
export type MaskedRows = Readonly<Record<string, number>>;

/** Masks that are new, or of another key, and those that hold no longer. */
interface Change {
  readonly masks: readonly DeclaredMask[];
  readonly unmasked: readonly DeclaredMask[];
}

const BATCH = 1000;

/**
 * Erases what is stored of these fields, or puts hashes in its place: in the tables and their earlier versions, closed months, the quarantine and
 * pushed lines; in the caller's transaction, whose search path is the schema. Hashes of another key, and of `unmasked` fields, are erased: they are
 * made anew when their row is next read. Nobody else writes meanwhile, and readings under way write no more. Kind `configuration` where rows are
 * told apart by their content. SQL: tables known at run time, and cursors.
 */
export async function maskStored(
  db: Db,
  schema: string,
  list: DeclaredTable,
  { masks, unmasked }: Change,
): Promise<MaskedRows> {
  if ([...masks, ...unmasked].some(({ field }) => list.columns.some(({ name }) => name === field)))
    await refuseContentKeys(db, schema, list, 'be masked');
  const hashed = await hashedBefore(db, schema, list);
  const applied: DeclaredMask[] = [...masks, ...unmasked.filter(({ rule }) => rule === 'hash')].map(mask =>
    hashed.includes(mask.field) ? { ...mask, rule: 'never' } : mask,
  );
  if (applied.length === 0) return {};
  const mask = (row: string, inside?: string) => list.maskJson(row, applied, inside);
  const counts: Record<string, number> = {};
  const note = (table: string, rows: number) => {
    if (rows > 0) counts[table] = rows;
  };
  const sources = sql`(select source from sluice.sources where schema = ${schema})`;
  const ofList = sql`t.resource = ${list.name} and t.source in ${sources}`;
  const ofSeals = sql`t.resource = ${list.name} and t.seal_id in (select seal_id from sluice.sealed_lists where schema = ${schema})`;
  // What is pushed without a list is masked like every list.
  const ofPushes = sql`t.source in ${sources} and (t.resource = ${list.name}
    or not exists (select from sluice.cursors c where c.source = t.source and c.resource = t.resource))`;

  // In the order of commits: a commit under way ends first, and the next finds its cursor moved.
  const tables = [list, ...list.children].map(({ name }) => sql.id(name));
  await sql`lock table ${sql.join(tables)} in share row exclusive mode`.execute(db);
  await sql`update sluice.cursors t set version = version + 1, readings = '{}' where ${ofList}`.execute(db);
  await noteWritten(db, list);
  note(`${schema}.${list.name}`, await maskTable(db, list, mask));
  for (const child of list.children) {
    const maskItem = (row: string) => mask(row, child.field);
    note(`${schema}.${child.name}`, await maskTable(db, child, maskItem, { list, parent: child.parent }));
  }
  note(`${schema}.row_history`, await maskJsonIn(db, HISTORY, sql`t.resource = ${list.name}`, mask));
  await keepWritten(db, list);
  note('sluice.quarantine', await maskJsonIn(db, QUARANTINE, ofList, mask));
  note('sluice.push_items', await maskJsonIn(db, PUSHED, ofPushes, mask));
  note('sluice.sealed_rows', await maskJsonIn(db, SEALED, ofSeals, mask));
  // A record without a readable key has a digest of what it was in its place; it comes again with its list. So do the digests of answers.
  await sql`delete from sluice.quarantine t where ${ofList} and key ~ '^[?][0-9a-f]{32}$' and reasons = ${MASKED}`.execute(
    db,
  );
  await sql`delete from sluice.answers t where ${ofList}`.execute(db);
  const outer = applied.map(({ field }) => field.split('.')[0] ?? field);
  await sql`update sluice.rewrites t set examples = '[]' where ${ofList} and field = any(cast(${outer} as text[]))`.execute(
    db,
  );
  await forgetExamples(db, sql`resource = ${list.name} and source in ${sources}`);
  await forgetFields(
    db,
    list,
    applied.map(({ field }) => field),
  );
  await forgetStatistics(db, schema, list);
  return counts;
}

const WRITTEN = sql.id('pg_temp', 'written_before_masks');

/** Remembers when each row of the list was written. */
async function noteWritten(db: Db, { name, key: [key = ''] }: DeclaredTable): Promise<void> {
  await sql`drop table if exists ${WRITTEN}`.execute(db);
  await sql`create temporary table written_before_masks on commit drop as select ${sql.id(key)} as key, _synced_at as at from ${sql.id(name)}`.execute(
    db,
  );
}

/** Rows that are masked now, and so new to whoever copies them on, were there before, as they are now: as versions, which are those of no run. */
async function keepWritten(db: Db, { name, key: [key = ''], children }: DeclaredTable): Promise<void> {
  const own = sql`t.${sql.id(key)}`;
  const lines = children.map(
    child =>
      sql`${child.field}::text, (select coalesce(jsonb_agg(to_jsonb(c) - ${child.parent}::text order by c.line), '[]')
        from ${sql.id(child.name)} c where c.${sql.id(child.parent)} = ${own})`,
  );
  await sql`insert into row_history (resource, key, row, valid_from, valid_to, ended_by)
    select ${name}, ${own}::text, to_jsonb(t) || jsonb_build_object(${sql.join(lines)}), w.at, t._synced_at, 'changed'
    from ${WRITTEN} w join ${sql.id(name)} t on ${own} = w.key where t._synced_at > w.at`.execute(db);
}

/** Writes down that these fields are masked, and no longer those. `counts`: of what was stored. */
export async function recordMasks(
  db: Db,
  schema: string,
  list: DeclaredTable,
  { masks, unmasked, counts }: Change & { readonly counts: MaskedRows },
): Promise<void> {
  const fields = [...masks, ...unmasked].map(({ field }) => field);
  if (fields.length === 0) return;
  await db
    .deleteFrom('sluice.masks')
    .where('schema', '=', schema)
    .where('resource', '=', list.name)
    .where('field', 'in', fields)
    .execute();
  const rows = masks.map(({ field, rule, keyMark }) => ({
    ...{ schema, resource: list.name, field, rule, key_mark: keyMark },
    ...{ counts: JSON.stringify(counts), masked_at: sql<string>`sluice.now()` },
  }));
  if (rows.length > 0) await db.insertInto('sluice.masks').values(rows).execute();
}

/** Their keys would be others. */
export async function refuseContentKeys(
  db: Db,
  schema: string,
  { name, key }: DeclaredTable,
  change: 'be masked' | 'change',
): Promise<void> {
  if (!key.includes('_key')) return;
  const { rows } = await sql`select from ${sql.id(name)} where _key like '#%' limit 1`.execute(db);
  if (rows.length === 0) return;
  throw new SluiceError(
    'configuration',
    `Fields of ${schema}.${name} are to ${change}, but some of its rows have no id and are told apart by what they hold.`,
    { next: `Read them anew: undo the change, run "sluice reset ${name}", then make it again. Nothing was changed.` },
  );
}

async function hashedBefore(db: Db, schema: string, { name }: DeclaredTable): Promise<string[]> {
  const rows = await db
    .selectFrom('sluice.masks')
    .select('field')
    .where('schema', '=', schema)
    .where('resource', '=', name)
    .where('rule', '=', 'hash')
    .execute();
  return rows.map(({ field }) => field);
}

/** What holds rows as JSON. `after`: what becomes of one whose JSON `i.json` is masked. */
interface Holder {
  readonly table: RawBuilder<unknown>;
  readonly column: string;
  readonly after: RawBuilder<unknown>;
}

const MASKED = sql.lit('{"(record)": "masked"}');

// A digest of a row would tell a value of few possible ones.
const HISTORY: Holder = { table: sql`row_history`, column: 'row', after: sql`row = i.json::jsonb - '_hash'` };
const QUARANTINE: Holder = {
  table: sql`sluice.quarantine`,
  column: 'payload',
  after: sql`payload = i.json, reasons = ${MASKED}`,
};
/** An emptied line is filled from its file when that is pushed again. */
const PUSHED: Holder = { table: sql`sluice.push_items`, column: 'body', after: sql`body = '{}', message = null` };
/** Their hashes stay, so that the digest of the month can still be checked. */
const SEALED: Holder = { table: sql`sluice.sealed_rows`, column: 'row', after: sql`row = null` };

/** A row's JSON, masked; undefined where nothing changes. */
type MaskJson = (row: string) => string | undefined;

/** Masks what a holder has of the rows `t`; returns how many changed. What is no JSON is emptied. */
async function maskJsonIn(
  db: Db,
  { table, column, after }: Holder,
  where: RawBuilder<unknown>,
  mask: MaskJson,
): Promise<number> {
  const name = sql.id(column);
  const maskText = (text: string): string | undefined => {
    try {
      return mask(text);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return text === '' ? undefined : '';
    }
  };
  let changed = 0;
  for await (const rows of batches(
    db,
    sql`t.${name}::text`,
    sql`${table} t where ${where} and t.${name} is not null`,
  )) {
    const changes = changesOf(rows, maskText);
    changed += changes.length;
    await sql`update ${table} t set ${after} from ${unnested(changes)} where t.ctid = i.at::tid`.execute(db);
  }
  return changed;
}

/**
 * Masks the columns of a table, what is JSON in its other columns, and its `_extra`. Rows that change are new to whoever copies them on; of a child
 * table, those that they belong to.
 */
async function maskTable(
  db: Db,
  { name, columns }: Declared,
  mask: MaskJson,
  owner?: { readonly list: DeclaredTable; readonly parent: string },
): Promise<number> {
  const fields = columns.filter(({ read }) => read);
  const probed = mask(JSON.stringify(Object.fromEntries(fields.map(field => [field.name, '?']))));
  const left = probed === undefined ? null : (JSON.parse(probed) as Record<string, unknown>);
  const isMasked = (field: string) => left !== null && left[field] !== '?';
  const holds = fields.flatMap((field): [string, RawBuilder<unknown>][] => {
    const column = sql`t.${sql.id(field.name)}`;
    if (isMasked(field.name) || field.type === 'jsonb') return [[field.name, sql`${column} is not null`]];
    return field.type === 'text' ? [[field.name, sql`${column} ~ '^[[:space:]\ufeff]*[{[]'`]] : [];
  });
  const held = [...holds.map(([field]) => field), '_extra'];
  const has = (own: string) => columns.some(column => column.name === own);
  const news = (of: (own: string) => boolean) => [
    ...(of('_synced_at') ? [sql`_synced_at = sluice.now()`] : []),
    ...(of('_hash') ? [sql`_hash = null`] : []),
  ];
  const set = [
    ...holds.map(([field]) => sql`${sql.id(field)} = r.${sql.id(field)}`),
    sql`_extra = nullif(r._extra, '{}')`,
    ...news(has),
  ];
  // A function takes at most 100 arguments, a table has more columns.
  const row = sql`(select jsonb_object_agg(f.key, f.value)::text from jsonb_each(to_jsonb(t)) f where f.key = any(${held}::text[]))`;
  const conditions = [...holds.map(([, condition]) => condition), sql`t._extra is not null`];
  let changed = 0;
  for await (const rows of batches(db, row, sql`${sql.id(name)} t where ${sql.join(conditions, sql` or `)}`)) {
    const changes = changesOf(rows, mask);
    changed += changes.length;
    if (changes.length === 0) continue;
    const update = sql`update ${sql.id(name)} t set ${sql.join(set)} from ${unnested(changes)}
      cross join lateral jsonb_populate_record(null::${sql.id(name)}, i.json::jsonb) r where t.ctid = i.at::tid`;
    if (owner === undefined) {
      await update.execute(db);
      continue;
    }
    const { list, parent } = owner;
    await sql`with masked as (${update} returning t.${sql.id(parent)} as key)
      update ${sql.id(list.name)} o set ${sql.join(news(own => list.columns.some(column => column.name === own)))}
      from (select distinct key from masked) m where o.${sql.id(list.key[0] ?? '')} = m.key`.execute(db);
  }
  return changed;
}

interface MaskedRow {
  /** Where the row lies. */
  readonly at: string;
  readonly json: string;
}

const changesOf = (rows: readonly MaskedRow[], masked: MaskJson): MaskedRow[] =>
  rows.flatMap(({ at, json }) => {
    const after = masked(json);
    return after === undefined ? [] : [{ at, json: after }];
  });

const unnested = (changes: readonly MaskedRow[]): RawBuilder<unknown> =>
  sql`unnest(cast(${changes.map(({ at }) => at)} as text[]), cast(${changes.map(({ json }) => json)} as text[])) as i(at, json)`;

/** Rows `t` as they were when this began, with where each lies. */
async function* batches(db: Db, json: RawBuilder<unknown>, from: RawBuilder<unknown>): AsyncGenerator<MaskedRow[]> {
  await sql`declare stored no scroll cursor for select t.ctid::text as at, ${json} as json from ${from}`.execute(db);
  for (;;) {
    const { rows } = await sql<MaskedRow>`fetch ${sql.lit(BATCH)} from stored`.execute(db);
    if (rows.length === 0) break;
    yield rows;
  }
  await sql`close stored`.execute(db);
}
