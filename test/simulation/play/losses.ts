import type { BadDay } from '../../../sandbox/faults/bad-days.ts';
import { lossLimitOf } from '../../../src/engine/deletion/loss-limit.ts';
import type { World } from './world.ts';

/**
 * Watches what a source that answers wrongly empties: at no commit more rows may have lost the field than a day allows. Returns the check at the
 * end of the action.
 */
export async function watchLosses({ database, problems }: World, { kind, resource, field }: BadDay) {
  const items = field === 'items';
  const filled = items
    ? 'select distinct invoice_id as id from warehouse.invoice_items'
    : `select id from warehouse.${resource} where coalesce(${field}::text, '') <> ''`;
  const table = items ? 'invoice_items' : resource;
  await database.query(`create table public.filled as ${filled}`);
  await database.query('create table public.emptied (transaction xid8 primary key, rows bigint)');
  await database.query(`create function public.note_emptied() returns trigger language plpgsql as $$ begin
    if not exists (select from public.emptied where transaction = pg_current_xact_id()) then
      insert into public.emptied select pg_current_xact_id(), count(*) from public.filled f join warehouse.${resource} r using (id)
        where f.id not in (${filled});
    end if;
    return null; end $$`);
  await database.query(`create constraint trigger note_emptied after insert or update or delete on warehouse.${table}
    deferrable initially deferred for each row execute function public.note_emptied()`);
  return async () => {
    const { rows } = await database.query<{ emptied: number; before: number }>(
      'select (select coalesce(max(rows), 0)::int from public.emptied) as emptied, (select count(*)::int from public.filled) as before',
    );
    await database.query('drop function public.note_emptied() cascade');
    await database.query('drop table public.emptied, public.filled');
    const { emptied = 0, before = 0 } = rows[0] ?? {};
    if (emptied > lossLimitOf(before))
      problems.push(`while ${field} of ${resource} was ${kind}, ${emptied} of ${before} rows had lost it`);
  };
}
