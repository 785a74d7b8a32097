import { type RawBuilder, sql } from 'kysely';
import type { Database, Db } from '../database/database.ts';
import type { Table } from './tables.ts';

/**
 * Times ahead of now predate a backward clock step. Rows that seem to be read in the future would refuse every update and could not go missing,
 * and slices that seem to be proven then would not be read, until the clock has caught up: what was read then counts as read now, and readings
 * begun then start again. Returns whether there was anything. Only the holder of the source's lock calls it. SQL: tables known at run time.
 */
export function clampToClock(database: Database, source: string, tables: readonly Table[]): Promise<boolean> {
  return database.transaction(async tx => {
    if (!(await isAhead(tx, source, tables))) return false;
    for (const { schema, name } of tables) {
      await clamp(tx, sql.id(schema, name), ['_read_at', '_synced_at'], sql`true`);
      // What was deleted ahead of now would count against the loss limit until a day after that.
      await clamp(tx, sql.id(schema, 'row_history'), ['valid_from', 'valid_to'], sql`t.resource = ${name}`);
      await clamp(tx, sql.id(schema, 'change_log'), ['earliest', 'seen_at'], sql`t.resource = ${name}`);
    }
    const ofSource = sql<boolean>`t.source = ${source}`;
    await clamp(tx, sql`sluice.orders`, ['created_at'], ofSource);
    // Nobody knows whether a slice was read after the work that waits was asked for.
    await clamp(tx, sql`sluice.coverage`, ['proven_at', 'read_at', 'due_since'], ofSource, beforeOpenWork(source));
    await clamp(tx, sql`sluice.missing`, ['since', 'lacked_at', 'shown_at'], ofSource);
    await clamp(tx, sql`sluice.held`, ['since'], ofSource);
    await clamp(tx, sql`sluice.losses`, ['at'], ofSource);
    await clamp(tx, sql`sluice.rewrites`, ['since', 'at', 'ended_at'], ofSource);
    await clamp(tx, sql`sluice.quarantine`, ['first_seen', 'last_seen'], ofSource);
    await clamp(tx, sql`sluice.row_windows`, ['seen_at'], ofSource);
    await clamp(tx, sql`sluice.cursors`, ['committed_at'], ofSource);
    await forgetReadings(tx, source);
    return true;
  });
}

/** One look into an index of each table; a bare `sluice.now()` is volatile and would compare every row. */
async function isAhead(tx: Db, source: string, tables: readonly Table[]): Promise<boolean> {
  const now = sql`(select sluice.now())`;
  const places = [
    sql`exists (select from sluice.cursors where source = ${source} and committed_at > ${now})`,
    sql`exists (select from sluice.orders where source = ${source} and created_at > ${now} and ended_at is null)`,
    sql`exists (select from sluice.coverage where source = ${source} and (proven_at > ${now} or read_at > ${now}))`,
    ...tables.map(({ schema, name }) => sql`exists (select from ${sql.id(schema, name)} where _synced_at > ${now})`),
  ];
  const { rows } = await sql<{ ahead: boolean }>`select ${sql.join(places, sql` or `)} as ahead`.execute(tx);
  return rows[0]?.ahead ?? false;
}

/** `least` would turn an absent time into now. */
async function clamp(
  tx: Db,
  table: RawBuilder<unknown>,
  columns: readonly string[],
  condition: RawBuilder<boolean>,
  to: RawBuilder<unknown> = sql`sluice.now()`,
): Promise<void> {
  const values = columns.map(column => {
    const time = sql.ref(`t.${column}`);
    return sql`${sql.id(column)} = case when ${time} > m.now then m.until else ${time} end`;
  });
  const ahead = columns.map(column => sql`${sql.ref(`t.${column}`)} > m.now`);
  await sql`with m as materialized (select sluice.now() as now, ${to} as until)
    update ${table} t set ${sql.join(values)} from m where ${condition} and (${sql.join(ahead, sql` or `)})`.execute(
    tx,
  );
}

const beforeOpenWork = (source: string): RawBuilder<unknown> => sql`least(sluice.now(),
  (select min(created_at) from sluice.orders where source = ${source} and state in ('waiting', 'running', 'paused')),
  (select min(slot_at) from sluice.slots where source = ${source} and run_id is null)) - interval '1 millisecond'`;

async function forgetReadings(tx: Db, source: string): Promise<void> {
  await sql`with m as materialized (select sluice.now() as now),
    begun as (select c.resource, r.key from sluice.cursors c, jsonb_each(c.readings) r, m
      where c.source = ${source} and cast(r.value->>'startedAt' as timestamptz) > m.now),
    keys as (delete from sluice.seen_keys s using begun b where s.source = ${source} and s.resource = b.resource and s.slice = b.key)
    update sluice.cursors c set readings = c.readings - (select array_agg(b.key) from begun b where b.resource = c.resource)
    where c.source = ${source} and c.resource in (select resource from begun)`.execute(tx);
}
