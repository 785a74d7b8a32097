import { type RawBuilder, sql } from 'kysely';
import { SluiceError } from '../../errors.ts';
import type { Db } from './database.ts';
import type { Declared, DeclaredMask, DeclaredTable } from './declared-table.ts';
import { forgetExamples } from './forget-list.ts';
import { forgetFields } from './put-back.ts';

/** Rows erased or hashed, by table. */
export type MaskedRows = Readonly<Record<string, number>>;

const BATCH = 1000;

/**
 * Erases what is stored of these fields, or puts hashes in its place: in the tables and their earlier versions, closed months, the quarantine and
 * pushed lines; in the caller's transaction, whose search path is the schema. What was hashed with another key is erased, and hashed when its row
 * is next read. Readings under way write no more. Kind `configuration` where rows are told apart by their content. SQL: tables known at run time, and
 * cursors.
 */
export async function maskStored(
  db: Db,
  schema: string,
  list: DeclaredTable,
  masks: readonly DeclaredMask[],
): Promise<MaskedRows> {
  if (masks.some(({ field }) => list.columns.some(({ name }) => name === field)))
    await refuseContentKeys(db, schema, list);
  const hashed = await hashedBefore(db, schema, list);
  const applied = masks.map(mask => (hashed.includes(mask.field) ? { ...mask, rule: 'never' as const } : mask));
  const mask = (row: string, inside?: string) => list.maskJson(row, applied, inside);
  const counts: Record<string, number> = {};
  const note = (table: string, rows: number) => {
    if (rows > 0) counts[table] = rows;
  };
  const sources = sql`(select source from sluice.sources where schema = ${schema})`;
  const ofList = sql`t.resource = ${list.name} and t.source in ${sources}`;
  const ofSeals = sql`t.resource = ${list.name} and t.seal_id in (select seal_id from sluice.sealed_lists where schema = ${schema})`;

  note(`${schema}.${list.name}`, await maskTable(db, list, mask));
  for (const child of list.children)
    note(`${schema}.${child.name}`, await maskTable(db, child, row => mask(row, child.field)));
  note(`${schema}.row_history`, await maskJsonIn(db, HISTORY, sql`t.resource = ${list.name}`, mask));
  note('sluice.quarantine', await maskJsonIn(db, QUARANTINE, ofList, mask));
  note('sluice.push_items', await maskJsonIn(db, PUSHED, ofList, mask));
  note('sluice.sealed_rows', await maskJsonIn(db, SEALED, ofSeals, mask));
  await forgetFields(
    db,
    list,
    applied.flatMap(({ field }) => [field, field.split('.')[0] as string]),
  );
  await forgetExamples(db, sql`resource = ${list.name} and source in ${sources}`);
  await sql`update sluice.cursors t set version = version + 1, readings = '{}' where ${ofList}`.execute(db);
  return counts;
}

/** Writes down that these fields are masked, and no longer those. `counts`: of what was stored. */
export async function recordMasks(
  db: Db,
  schema: string,
  list: DeclaredTable,
  {
    masks,
    unmasked,
    counts,
  }: { masks: readonly DeclaredMask[]; unmasked: readonly DeclaredMask[]; counts: MaskedRows },
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
async function refuseContentKeys(db: Db, schema: string, { name, key }: DeclaredTable): Promise<void> {
  if (!key.includes('_key')) return;
  const { rows } = await sql`select from ${sql.id(name)} where _key like '#%' limit 1`.execute(db);
  if (rows.length === 0) return;
  throw new SluiceError(
    'configuration',
    `Fields of ${schema}.${name} are to be masked, but some of its rows have no id and are told apart by what they hold.`,
    {
      next: `Read them anew: without the setting, run "sluice reset ${name}", then set it again. Nothing was changed.`,
    },
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

/** What holds rows as JSON. `else`: what a row becomes that changes; default: what is left of it. */
interface Holder {
  readonly table: RawBuilder<unknown>;
  readonly column: string;
  readonly type: 'json' | 'jsonb' | 'text';
  readonly also?: RawBuilder<unknown>;
  readonly else?: null;
}

const HISTORY: Holder = { table: sql`row_history`, column: 'row', type: 'jsonb' };
const QUARANTINE: Holder = { table: sql`sluice.quarantine`, column: 'payload', type: 'text' };
const PUSHED: Holder = { table: sql`sluice.push_items`, column: 'body', type: 'jsonb', also: sql`, message = null` };
/** Their hashes stay, so that the digest of the month can still be checked. */
const SEALED: Holder = { table: sql`sluice.sealed_rows`, column: 'row', type: 'jsonb', else: null };

/** A row's JSON, masked; undefined where nothing changes. */
type MaskJson = (row: string) => string | undefined;

/** Masks what a holder has of the rows `t`; returns how many changed. What is no JSON is emptied. */
async function maskJsonIn(
  db: Db,
  { table, column, type, also = sql``, else: instead }: Holder,
  where: RawBuilder<unknown>,
  mask: MaskJson,
): Promise<number> {
  const name = sql.id(column);
  const masked = (text: string): string | null | undefined => {
    try {
      const json = mask(text);
      return json === undefined || instead === undefined ? json : instead;
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
    const changes = changesOf(rows, masked);
    changed += changes.length;
    await sql`update ${table} t set ${name} = i.json::${sql.raw(type)}${also} from ${unnested(changes)} where t.ctid = i.at::tid`.execute(
      db,
    );
  }
  return changed;
}

/** Masks the columns of a table, and its `_extra`. */
async function maskTable(db: Db, { name, columns }: Declared, mask: MaskJson): Promise<number> {
  const fields = columns.filter(({ read }) => read).map(column => column.name);
  const probed = mask(JSON.stringify(Object.fromEntries(fields.map(field => [field, '?']))));
  const left = probed === undefined ? null : (JSON.parse(probed) as Record<string, unknown>);
  const masked = left === null ? [] : fields.filter(field => left[field] !== '?');
  const held = [...masked, '_extra'];
  const set = [
    ...masked.map(field => sql`${sql.id(field)} = r.${sql.id(field)}`),
    sql`_extra = nullif(r._extra, '{}')`,
    ...(columns.some(column => column.name === '_synced_at') ? [sql`_synced_at = sluice.now()`] : []),
  ];
  const row = sql`jsonb_build_object(${sql.join(held.map(field => sql`${field}::text, t.${sql.id(field)}`))})::text`;
  const from = sql`${sql.id(name)} t where ${sql.join(
    held.map(field => sql`t.${sql.id(field)} is not null`),
    sql` or `,
  )}`;
  let changed = 0;
  for await (const rows of batches(db, row, from)) {
    const changes = changesOf(rows, mask);
    changed += changes.length;
    await sql`update ${sql.id(name)} t set ${sql.join(set)} from ${unnested(changes)}
      cross join lateral jsonb_populate_record(null::${sql.id(name)}, i.json::jsonb) r where t.ctid = i.at::tid`.execute(
      db,
    );
  }
  return changed;
}

interface Change {
  /** Where the row lies. */
  readonly at: string;
  readonly json: string | null;
}

const changesOf = (
  rows: readonly { at: string; json: string }[],
  masked: (json: string) => string | null | undefined,
) =>
  rows.flatMap(({ at, json }): Change[] => {
    const after = masked(json);
    return after === undefined ? [] : [{ at, json: after }];
  });

const unnested = (changes: readonly Change[]): RawBuilder<unknown> =>
  sql`unnest(cast(${changes.map(({ at }) => at)} as text[]), cast(${changes.map(({ json }) => json)} as text[])) as i(at, json)`;

/** Rows `t` as they were when this began, with where each lies. */
async function* batches(
  db: Db,
  json: RawBuilder<unknown>,
  from: RawBuilder<unknown>,
): AsyncGenerator<{ at: string; json: string }[]> {
  await sql`declare stored no scroll cursor for select t.ctid::text as at, ${json} as json from ${from}`.execute(db);
  for (;;) {
    const { rows } = await sql<{ at: string; json: string }>`fetch ${sql.lit(BATCH)} from stored`.execute(db);
    if (rows.length === 0) break;
    yield rows;
  }
  await sql`close stored`.execute(db);
}
