import type { BadDay } from '../../../sandbox/faults/bad-days.ts';
import { DAY } from '../../../src/clock.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import { OWN } from '../plan/choose-declarations.ts';
import { CUSTOM_FIELDS } from './custom-fields.ts';
import type { World } from './world.ts';

/** The tables of lines, the list of their documents, and the column that names one. */
const LINES = [
  ['invoice_items', 'invoices', 'invoice_id'],
  ['quote_items', 'quotes', 'quote_key'],
] as const;

/**
 * More than a quarter, and at least 20, must be announced. An honest edit counts here, too; a run that takes it back, or stores more rows in
 * between, may rightly see less than a quarter.
 */
const MUST_ANNOUNCE = { share: 0.3, rows: 20 };

/** A migration masks and converts: nobody replaced anything. */
const BY_MIGRATION = `current_setting('application_name') = 'sluice migrate'`;

/** An edit moves `updated_at` of whatever it changes, and `_extra` is no field. */
const NOT_WATCHED = ['updated_at', '_extra'];

const OWN_COLUMNS = `'{_key,_hash,_synced_at,_read_at}'::text[]`;
const isFilled = (value: string) => `${value} not in ('null', '""')`;

/** Records every value that another one replaces, and every document whose lines are replaced, as it happens. What is checked here starts with it. */
export async function recordReplacements(database: Database, resources: readonly string[]): Promise<void> {
  await database.query(`create table public.replaced (
    id bigint generated always as identity, resource text, field text, key text, at timestamptz, erased boolean not null default false)`);
  // A mask that is set or lifted erases what was stored, also of earlier versions: after that, no run can tell what was replaced.
  await database.query(`create function public.record_replaced() returns trigger language plpgsql as $$ declare
      row_key text := coalesce(to_jsonb(new)->>'_key', to_jsonb(new)->>'id', to_jsonb(new)->>'period');
    begin
      if ${BY_MIGRATION} then
        update public.replaced r set erased = true
        from jsonb_each(to_jsonb(new) - ${OWN_COLUMNS}) n join jsonb_each(to_jsonb(old)) o using (key)
        where r.resource = tg_table_name and r.key = row_key and r.field = n.key and n.value::text <> o.value::text;
        return null;
      end if;
      insert into public.replaced (resource, field, key, at) select tg_table_name, n.key, row_key, sluice.now()
      from jsonb_each(to_jsonb(new) - ${OWN_COLUMNS}) n join jsonb_each(to_jsonb(old)) o using (key)
      where n.value::text <> o.value::text and ${isFilled('n.value')} and ${isFilled('o.value')};
      return null;
    end $$`);
  for (const resource of resources)
    await database.query(`create trigger record_replaced after update on warehouse.${resource}
      for each row execute function public.record_replaced()`);

  // Lines are replaced by deleting those of a document and inserting others in the same transaction, at whose end they are compared.
  await database.query('create table public.taken (tx xid8, of text, parent text, line jsonb)');
  await database.query(`create function public.record_taken() returns trigger language plpgsql as $$ begin
    if ${BY_MIGRATION} then return null; end if;
    insert into public.taken values (pg_current_xact_id(), tg_argv[0], to_jsonb(old)->>tg_argv[1], to_jsonb(old)); return null; end $$`);
  await database.query(`create function public.record_replaced_lines() returns trigger language plpgsql as $$ declare
      document text := to_jsonb(new)->>tg_argv[1]; before jsonb; after jsonb;
    begin
      with gone as (delete from public.taken where tx = pg_current_xact_id() and of = tg_argv[0] and parent = document returning line)
      select jsonb_agg(line order by (line->>'line')::int) into before from gone;
      if before is null then return null; end if;
      execute format('select jsonb_agg(to_jsonb(t) order by t.line) from warehouse.%I t where t.%I::text = $1', tg_table_name, tg_argv[1])
        into after using document;
      if before::text <> after::text then
        insert into public.replaced (resource, field, key, at) values (tg_argv[0], 'items', document, sluice.now());
      end if;
      return null;
    end $$`);
  for (const [table, resource, parent] of LINES) {
    const names = `('${resource}', '${parent}')`;
    await database.query(`create trigger record_taken after delete on warehouse.${table}
      for each row execute function public.record_taken${names}`);
    await database.query(`create constraint trigger record_replaced_lines after insert on warehouse.${table}
      deferrable initially deferred for each row execute function public.record_replaced_lines${names}`);
  }
}

/**
 * Watches a list whose source shows other values than it has. Returns the check at the end of the action: that a run announced it, or that it
 * was announced before and is open, since each rewrite is told once.
 */
export async function watchRewrites(
  { plan, database, clock, problems }: Pick<World, 'plan' | 'database' | 'clock' | 'problems'>,
  { kind, resource }: BadDay,
): Promise<() => Promise<void>> {
  const begunAt = clock.now();
  // Fields that are declared, and the lines that hold some, are written otherwise by the next reading; what was masked a day ago had no value then.
  const notWatched = plan.declares ? [...NOT_WATCHED, ...CUSTOM_FIELDS, 'items', 'phone', 'notes'] : NOT_WATCHED;
  const before = await filledIn(database, resource);
  const { rows: begun } = await database.query<{ last: string; at: Date }>(
    'select (select coalesce(max(id), 0) from public.replaced) as last, sluice.now() as at',
  );
  return async () => {
    // Announced is what was replaced within a day.
    if (clock.now() - begunAt >= DAY) return;
    const after = await filledIn(database, resource);
    const { rows } = await database.query<{ field: string; replaced: number; announced: boolean }>(
      `select p.field, count(distinct p.key)::int as replaced, exists (select from sluice.rewrites r
         where r.resource = $1 and r.field = p.field and (r.at >= $3 or coalesce(r.ended_at >= $3, true))) as announced
       from public.replaced p where p.resource = $1 and p.id > $2 and not p.erased and p.field <> all ($4) group by p.field`,
      [resource, begun[0]?.last, begun[0]?.at, notWatched],
    );
    // A process whose columns were dropped while it read cannot compare them: it fails, and the next run announces.
    const { rows: last } = await database.query<{ reason: string | null }>(
      'select reason from sluice.runs where resource = $1 order by id desc limit 1',
      [resource],
    );
    if (plan.declares && last[0]?.reason?.includes('(42703)')) return;
    for (const { field, replaced, announced } of rows) {
      const stored = Math.max(before.get(field) ?? 0, after.get(field) ?? 0);
      if (announced || replaced <= Math.max(MUST_ANNOUNCE.rows, stored * MUST_ANNOUNCE.share)) continue;
      problems.push(
        `on a bad day (${kind}), ${replaced} of ${stored} ${resource}.${field} were replaced, and no run announced it`,
      );
    }
  };
}

/** Checks that no announcement names more than was replaced, and that its run failed. */
export async function checkAnnouncements({
  plan,
  database,
  problems,
}: Pick<World, 'plan' | 'database' | 'problems'>): Promise<void> {
  // What was dated ahead when the clock was put back is dated anew, so that no moment tells what came first.
  const isSteady = plan.actions.every(({ putBack }) => putBack === null);
  const { rows } = await database.query<{ what: string; rows: string; replaced: number; state: string | null }>(
    `select r.resource || '.' || r.field as what, r.rows, q.state, (select count(*)::int from public.replaced p
       where p.resource = r.resource and p.field = r.field
         and (not $1 or (p.at >= r.at - interval '24 hours 1 minute' and (r.earlier is null or p.at >= r.earlier)))) as replaced
     from (select *, lag(at) over (partition by resource, field order by at) as earlier from sluice.rewrites) r
     left join sluice.runs q on q.id = r.run_id`,
    [isSteady],
  );
  for (const { what, rows: announced, replaced, state } of rows) {
    // Versions of before a migration hold the lines as they were declared then; what is replaced in the own list is not recorded.
    const isComparable = !(plan.declares && (what.endsWith('.items') || what.startsWith(`${OWN}.`)));
    if (isComparable && Number(announced) > replaced)
      problems.push(`a run announced that ${announced} ${what} were replaced, and only ${replaced} were`);
    if (state === 'done') problems.push(`a run announced that ${announced} ${what} were replaced, and ended as done`);
  }
}

/** How many rows hold something in each column, and how many have lines. */
async function filledIn(database: Database, resource: string): Promise<ReadonlyMap<string, number>> {
  const lines = LINES.find(([, of]) => of === resource);
  const { rows } = await database.query<{ field: string; filled: number }>(
    `select e.key as field, count(*)::int as filled from warehouse.${resource} t, jsonb_each(to_jsonb(t)) e
     where ${isFilled('e.value')} group by e.key
     ${lines ? `union all select 'items', count(distinct ${lines[2]})::int from warehouse.${lines[0]}` : ''}`,
  );
  return new Map(rows.map(({ field, filled }) => [field, filled]));
}
