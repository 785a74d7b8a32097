import type { Database } from '../src/warehouse/database/database.ts';

/** The progress of each source at one moment. */
export interface Progress {
  readonly atMs: number;
  readonly requests: number;
  readonly rows: number;
  readonly bySource: ReadonlyMap<string, { readonly requests: number; readonly rows: number }>;
}

export async function readProgress(database: Database, atMs: number): Promise<Progress> {
  const { rows: found } = await database.query<{ source: string; requests: number; rows: number }>(
    'select source, sum(requests)::int as requests, sum(rows_read)::int as rows from sluice.runs group by 1',
  );
  const sum = (of: 'requests' | 'rows') => found.reduce((total, each) => total + each[of], 0);
  return {
    atMs,
    requests: sum('requests'),
    rows: sum('rows'),
    bySource: new Map(found.map(({ source, requests, rows }) => [source, { requests, rows }])),
  };
}

/** The smallest and largest share of a source, relative to an even split (1). */
export function shares(
  { bySource }: Progress,
  of: 'requests' | 'rows',
  sources: number,
): { least: number; greatest: number } {
  const parts = [...bySource.values()].map(each => each[of]);
  const mean = parts.reduce((sum, part) => sum + part, 0) / sources;
  const least = parts.length < sources ? 0 : Math.min(...parts);
  return { least: least / mean, greatest: Math.max(...parts) / mean };
}

/**
 * The longest time, in seconds, without a request of a source that had something due: from a slot's record to its run's end.
 */
export async function longestUnread(database: Database): Promise<{ source: string; seconds: number }> {
  const { rows } = await database.query<{ source: string; seconds: number }>(`
    with due as (
      select s.source, range_agg(tstzrange(s.recorded_at, greatest(s.recorded_at, coalesce(r.ended_at, sluice.now())))) as spans
      from sluice.slots s left join sluice.runs r on r.id = s.run_id group by 1),
    span as (select source, unnest(spans) as span from due),
    moment as (
      select source, span, lower(span) as at from span
      union all select source, span, upper(span) from span
      union all select span.source, span, granted_at from span
        join sluice.requests r on r.source = span.source and r.granted_at <@ span)
    select source, extract(epoch from gap)::float8 as seconds
    from (select source, at - lag(at) over (partition by source, span order by at) as gap from moment) gaps
    where gap is not null order by gap desc limit 1`);
  return rows[0] ?? { source: 'none', seconds: 0 };
}

/** Delays from the tick, in seconds, of slots in the last `sinceMs` milliseconds. */
export async function slotDelays(
  database: Database,
  sinceMs: number,
): Promise<{ slots: number; recorded: number; median: number; greatest: number; left: number }> {
  const { rows } = await database.query<{
    slots: number;
    recorded: number;
    median: number;
    greatest: number;
    left: number;
  }>(
    `select count(*)::int as slots, coalesce(max(extract(epoch from recorded_at - s.slot_at)), 0)::float8 as recorded,
      coalesce(percentile_cont(0.5) within group (order by extract(epoch from ended_at - s.slot_at)), 0)::float8 as median,
      coalesce(max(extract(epoch from ended_at - s.slot_at)), 0)::float8 as greatest,
      (count(*) filter (where ended_at is null))::int as left
    from sluice.slots s left join sluice.runs r on r.id = s.run_id
    where s.slot_at > sluice.now() - make_interval(secs => $1)`,
    [sinceMs / 1000],
  );
  return rows[0] ?? { slots: 0, recorded: 0, median: 0, greatest: 0, left: 0 };
}
