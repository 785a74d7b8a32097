import { isDraft } from '../../../sandbox/data/table.ts';
import type { Sandbox } from '../../../sandbox/sandbox.ts';
import { parseSlice, type Slice } from '../../../src/engine/slices/slice.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { isStorable, isVisible, type Shown, shownId } from '../../support/compare.ts';
import { ALL, type TestResource } from '../../support/resources.ts';
import { shownIn } from '../plan/choose-declarations.ts';
import { comesWithoutIds } from '../plan/choose-variants.ts';

/** Invariants that must hold at every moment; checked after every commit. */
export interface Watch {
  /** Checks rows that were deleted or not stored, and adds violations to `problems`. */
  look(): void;
  /** Checks that no row was lost that the source still has, and that every proven slice holds its rows. */
  lookAtAll(when: string): Promise<void>;
  readonly problems: string[];
  /** Resolves when all checks so far are done. */
  done(): Promise<void>;
}

type Table = Shown;
export const isTable = (resource: string): resource is Table =>
  resource !== 'financial_summaries' && ALL.some(name => name === resource);
const keyOf = (table: Table) => (table === 'customers' || table === 'invoices' ? 'id' : '_key');

/**
 * Records every deletion as it happens: a row that comes back leaves no trace in `row_history`. What a watch sees starts here. `now`: the time
 * at the source, in SQL.
 */
export async function recordDeletions(database: Database, now = 'sluice.now()'): Promise<void> {
  await database.query('create table if not exists public.deletions (resource text, key text, at float8)');
  await database.query(`create or replace function public.record_deletion() returns trigger language plpgsql as $$ begin
    insert into public.deletions values (new.resource, new.key, extract(epoch from ${now}) * 1000); return null; end $$`);
  await database.query(`create or replace trigger record_deletion after insert on warehouse.row_history
    for each row when (new.ended_by = 'deleted') execute function public.record_deletion()`);
  // What is known of a deleted row may go only if that very row is there again, as it was.
  await database.query('create table if not exists public.lost_history (resource text, key text, row jsonb)');
  await database.query(`create or replace function public.record_lost_history() returns trigger language plpgsql as $$ declare
      is_back boolean;
    begin
      -- Fields move between columns and _extra, and masks fall on all versions. A column that was declared since is empty.
      if current_setting('application_name') = 'sluice migrate' then return null; end if;
      -- A clock that was put back moves times only.
      if tg_op = 'UPDATE' and new.ended_by = old.ended_by and new.key = old.key and new.row = old.row then return null; end if;
      execute format('select exists (select from warehouse.%I t where coalesce(to_jsonb(t)->>''_key'', to_jsonb(t)->>''id'', to_jsonb(t)->>''period'') = $1
        and jsonb_strip_nulls($2) @> jsonb_strip_nulls(to_jsonb(t) - ''{_hash,_synced_at,_read_at}''::text[]))', old.resource) into is_back using old.key, old.row;
      if not is_back then insert into public.lost_history values (old.resource, old.key, old.row); end if;
      return null;
    end $$`);
  await database.query(`create or replace trigger record_lost_history after delete or update on warehouse.row_history
    for each row when (old.ended_by = 'deleted') execute function public.record_lost_history()`);
}

const VIOLATIONS = {
  deleted: 'was deleted, but had not left the source',
  unstored: 'was seen by a cursor, and is not stored',
  history: 'was deleted, and its history is lost although another record has its key',
} as const;

/** `honest`: no response hides rows unnoticeably. */
export function createWatch(
  database: Database,
  sandbox: Sandbox,
  resources: readonly TestResource[],
  honest = true,
): Watch {
  const problems = new Set<string>();
  const tables = resources.filter(isTable);
  const atFirst = new Map(
    tables.map(table => [
      table,
      new Map(Array.from(sandbox.rows(table), row => [shownId(sandbox, row.id), JSON.stringify(row)] as const)),
    ]),
  );
  const seen = new Map<string, Set<string>>(tables.map(table => [table, new Set()]));
  const watched = tables.filter(table => !comesWithoutIds(table, sandbox.variants));
  let looking: Promise<void> = Promise.resolve();
  let again = false;

  /** A row that never changed was in every reading, so a slice proven without it was proven by mistake. */
  async function proofsHold(table: Table, here: ReadonlySet<string>, when: string): Promise<void> {
    const { rows: proven } = await database.query<{ slice: string }>(
      'select slice from sluice.coverage where resource = $1 and proven_at is not null',
      [table],
    );
    const { rows: bad } = await database.query<{ key: string }>(
      'select key from sluice.quarantine where resource = $1 and resolved_at is null',
      [table],
    );
    const aside = new Set(bad.map(({ key }) => key));
    const changed = new Set(
      allChanges(sandbox).flatMap(each => (each.resource === table ? [shownId(sandbox, each.id)] : [])),
    );
    const { rows: ends } = await database.query(
      `select from sluice.traits where resource = $1 and trait = 'end' and value::jsonb->>'verdict' <> 'agreed'`,
      [table],
    );
    // Nothing is claimed of what lies behind an end that nothing agrees with.
    const claimed = proven.filter(({ slice }) => ends.length === 0 || slice.startsWith('date '));
    const slices = claimed.map(({ slice }) => parseSlice(slice));
    for (const row of sandbox.rows(table)) {
      const id = shownId(sandbox, row.id);
      if (here.has(id) || changed.has(id) || aside.has(id) || !isVisible(sandbox, row)) continue;
      if (!isStorable(sandbox, table, row)) continue;
      if (atFirst.get(table)?.get(id) !== JSON.stringify(row)) continue;
      // Windows are proven by the rows that the date filter shows.
      const isLeftOut = sandbox.variants.drafts === 'hidden' && isDraft(row.id);
      const index = slices.findIndex(slice => !(isLeftOut && slice.by === 'date') && lies({ ...row, id }, slice));
      if (index >= 0) problems.add(`${table} ${id} is absent ${when}, though ${claimed[index]?.slice} is proven`);
    }
  }

  /** Rows deleted before they left the source, lost history, and rows that a cursor has passed but that are not stored. One statement, and
   * a prepared one, because it runs after every commit. */
  const deletedOrUnstored = [
    `select 'deleted' as what, resource, key, at from public.deletions
      where key not like $1 and resource <> 'financial_summaries'`,
    `select 'history', resource, key, 'infinity' from public.lost_history`,
    ...watched.map(
      table => `select 'unstored', k.resource, k.key, 'infinity'
        from (select s.resource, id::text from sluice.seen_keys s,
            regexp_split_to_table(nullif(s.keys->>'ids', ''), ',') as run,
            generate_series(split_part(run, '-', 1)::bigint, split_part(run || '-' || run, '-', 2)::bigint) as id
          union all select s.resource, jsonb_array_elements_text(s.keys->'others') from sluice.seen_keys s) k(resource, key)
        where k.resource = '${table}' and k.key ~ '^[0-9]+$'
        and not exists (select from warehouse.${table} t where t.${keyOf(table)}::text = k.key)
        and not exists (select from sluice.quarantine q where q.resource = k.resource and q.key = k.key)`,
    ),
  ].join(' union all ');

  async function lookOnce(): Promise<void> {
    again = false;
    const { rows } = await database.query<{ what: keyof typeof VIOLATIONS; resource: string; key: string; at: number }>(
      deletedOrUnstored,
      ['#%'],
    );
    const removed = removedRows(sandbox);
    for (const { what, resource, key, at } of rows) {
      if (what !== 'history' && (removed.get(`${shownIn(resource)} ${key}`) ?? Number.POSITIVE_INFINITY) <= at)
        continue;
      problems.add(`${resource} ${key} ${VIOLATIONS[what]}`);
    }
  }

  return {
    look() {
      if (again) return;
      again = true;
      looking = looking.then(lookOnce).catch(error => {
        problems.add(`looking after a commit: ${String(error)}`);
      });
    },
    async lookAtAll(when) {
      for (const table of watched) {
        const { rows } = await database.query<{ id: string }>(`select id::text as id from warehouse.${table}`);
        const here = new Set(rows.map(row => row.id));
        const known = seen.get(table) as Set<string>;
        const removed = removedRows(sandbox);
        for (const row of sandbox.rows(table)) {
          const id = shownId(sandbox, row.id);
          // A restored row may not have been read again yet.
          if (!here.has(id) && known.has(id) && !removed.has(`${table} ${id}`))
            problems.add(`${table} ${id} was there before and is absent ${when}`);
        }
        for (const id of here) known.add(id);
        if (honest) await proofsHold(table, here, when);
      }
    },
    get problems() {
      return [...problems];
    },
    done: () => looking,
  };
}

function lies(row: { readonly id: string; readonly date?: unknown }, slice: Slice): boolean {
  if (slice.by === 'whole') return true;
  if (slice.by === 'id')
    return (slice.from === null || slice.from <= BigInt(row.id)) && (slice.to === null || BigInt(row.id) <= slice.to);
  if (slice.by !== 'date') return false;
  const day = String(row.date ?? '');
  if (!/^\d{4}-\d\d-\d\d$/.test(day) || day === '0000-00-00') return false;
  return (slice.from === null || slice.from <= day) && (slice.to === null || day <= slice.to);
}

export const allChanges = (sandbox: Sandbox) => [...sandbox.changes, ...sandbox.otherChanges];

/** When each row that was ever removed, restored or not, was first removed (epoch ms). */
function removedRows(sandbox: Sandbox): Map<string, number> {
  const removed = allChanges(sandbox).filter(change => change.kind.endsWith('-deleted'));
  // The oldest comes last, and stays.
  return new Map(removed.reverse().map(({ resource, id, at }) => [`${resource} ${shownId(sandbox, id)}`, at]));
}

/** A text that changes whenever any row of the warehouse is written, even with the same content. */
export async function writesSeen(database: Database): Promise<string> {
  const { rows: tables } = await database.query<{ name: string }>(
    `select quote_ident(tablename) as name from pg_tables where schemaname = 'warehouse' order by 1`,
  );
  // Earlier versions and changes leave their table after a month, whatever is read.
  const sums = tables.map(({ name }) =>
    name === 'change_log'
      ? `select '${name}' as name, (select last from sluice.change_numbers)::text as sum`
      : `select '${name}' as name,
      md5(coalesce(string_agg(t.ctid::text || t.xmin::text, ',' order by t.ctid), '')) as sum from warehouse.${name} t
      where ${name === 'row_history' ? "ended_by = 'deleted'" : 'true'}`,
  );
  const { rows } = await database.query<{ name: string; sum: string }>(sums.join(' union all '));
  return rows
    .map(row => `${row.name} ${row.sum}`)
    .sort()
    .join('\n');
}
