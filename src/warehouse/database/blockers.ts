import { setTimeout as delay } from 'node:timers/promises';
import type { Queryable } from './database.ts';

const LOOK_EVERY_MS = 100;

/** A session that keeps a lock; a prepared transaction has the process 0. */
export interface Blocker {
  readonly pid: number;
  readonly text: string;
}

interface Session {
  readonly pid: number;
  readonly user: string | null;
  readonly application: string | null;
  readonly state: string | null;
  readonly seconds: number | null;
  readonly query: string | null;
}

/** Does `work` in the session `pid`, and notes for whom it had to wait last. */
export async function noteBlockers<T>(
  database: Queryable,
  pid: number,
  work: Promise<T>,
): Promise<{ result: T; blockers: readonly Blocker[] }> {
  const over = new AbortController();
  let blockers: readonly Blocker[] = [];
  const look = async () => {
    while (!over.signal.aborted) {
      const { rows } = await database.query<Session & Record<string, unknown>>(BLOCKERS, [pid]);
      if (rows.length > 0) blockers = rows.map(row => ({ pid: row.pid, text: describe(row) }));
      await delay(LOOK_EVERY_MS, undefined, { signal: over.signal });
    }
  };
  const looking = look().catch(() => undefined);
  try {
    return { result: await work, blockers };
  } finally {
    over.abort();
    await looking;
  }
}

const BLOCKERS = `
  select pid, usename as user, application_name as application, state, query,
    extract(epoch from clock_timestamp() - coalesce(state_change, xact_start))::int as seconds
  from unnest(pg_blocking_pids($1::int)) as blocker(pid) left join pg_stat_activity using (pid)`;

function describe({ pid, user, application, state, seconds, query }: Session): string {
  if (pid === 0) return 'a prepared transaction (see pg_prepared_xacts)';
  const facts = [
    ...(user ? [`user ${user}`] : []),
    ...(application ? [`application "${application}"`] : []),
    ...(state ? [`${state} for ${seconds} s`, `query: ${firstWords(query ?? '')}`] : []),
  ];
  return `process ${pid}${facts.length > 0 ? ` (${facts.join(', ')})` : ''}`;
}

const MOST_WORDS = 8;

/** The beginning of a query without literals, which may be secrets; what follows TO may be one, as in SET. */
function firstWords(query: string): string {
  const words = query.trim().split(/\s+/);
  const end = words.findIndex(word => /^to$/i.test(word) || !/^(?:[a-z_]\w*|[.,*()])+$/i.test(word));
  const shown = words.slice(0, Math.min(end < 0 ? words.length : end, MOST_WORDS));
  return [...shown, ...(shown.length < words.length ? ['..'] : [])].join(' ');
}
