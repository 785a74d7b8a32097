import type { Database } from '../../../src/warehouse/database/database.ts';
import { recordDeletions } from '../../../test/simulation/play/watch.ts';
import type { Judge } from '../judge.ts';
import { LISTS, type List } from '../parameters.ts';
import type { Change } from '../stream/stream.ts';
import { MARK, MARKED } from './source-rows.ts';

/** Triggers in the warehouse record when it shows a mark or deletes a row, by `sluice.now()`. */
export async function recordShown(database: Database): Promise<void> {
  await recordDeletions(database);
  await database.query('create table public.shown (resource text, key text, mark int, at float8)');
  await database.query(`create function public.record_shown() returns trigger language plpgsql as $$ begin
    insert into public.shown values (tg_table_name, new.id::text,
      substr(to_jsonb(new)->>tg_argv[0], ${MARK.length + 1})::int, extract(epoch from sluice.now()) * 1000);
    return null; end $$`);
  for (const list of LISTS)
    await database.query(`create trigger record_shown after insert or update on warehouse.${list}
      for each row when (new.${MARKED[list]} like '${MARK}%') execute function public.record_shown('${MARKED[list]}')`);
}

type Event = {
  readonly resource: List;
  readonly key: string;
  /** Null for a deletion. */
  readonly mark: number | null;
  readonly at: number;
};

/** Gives the judge the changes made and what the warehouse showed since the last call, in order of time. `timeOf`: that of the stream. */
export async function judgeSince(
  database: Database,
  judge: Judge,
  takeChanges: () => Change[],
  timeOf: (at: number) => number = at => at,
): Promise<void> {
  const { rows: events } = await database.query<Event>(
    `with shown as (delete from public.shown returning resource, key, mark, at),
      deleted as (delete from public.deletions returning resource, key, null::int as mark, at)
    select * from shown union all select * from deleted order by at`,
  );
  // After the query: a change that it shows has happened by then.
  const waiting = takeChanges();
  for (const { resource, key, mark, at: shownAt } of events) {
    const at = timeOf(shownAt);
    for (const change of takeUntil(waiting, at)) judge.happened(change);
    if (mark === null) judge.gone(resource, Number(key), at);
    else judge.shown(resource, Number(key), at, mark);
  }
  for (const change of waiting) judge.happened(change);
}

/** Removes and returns the changes up to this moment. */
function takeUntil(changes: Change[], at: number): Change[] {
  const later = changes.findIndex(change => change.at > at);
  return changes.splice(0, later < 0 ? changes.length : later);
}
