import { sql } from 'kysely';
import type { Db } from '../database/database.ts';

/** A text that differs once a run, an order or an incident began, ended or waits. SQL: one statement over the open ones. */
export async function readStateMark(db: Db): Promise<string> {
  const { rows } = await sql<{ mark: string }>`
    select concat_ws('/',
      (select string_agg(concat_ws(' ', id, state, waiting_until), ',' order by id) from sluice.runs where state in ('running', 'waiting')),
      (select string_agg(concat_ws(' ', id, state, reason), ',' order by id) from sluice.orders where state in ('waiting', 'running', 'paused')),
      (select string_agg(id::text, ',' order by id) from sluice.incidents where ended_at is null)) as mark`.execute(db);
  return rows[0]?.mark ?? '';
}
