import { MINUTE } from '../../clock.ts';
import type { AgendaMemory } from '../../engine/run/agenda.ts';
import type { LoopEvent, Serves } from '../../engine/run/engine.ts';
import { explain, isKind } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Pulse } from '../../service/health/health.ts';
import type { Turn } from '../../service/schedule/reading-turns.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import { dueHints } from '../../warehouse/ledgers/hints.ts';
import { whatIsDue } from '../../warehouse/reports/due.ts';
import { crowdedText } from '../output/moments.ts';
import type { OpenSource, Session } from '../session/session.ts';
import { findRefusal, readSource } from './read-source.ts';

/** How often one wake-up reads work that became due meanwhile; the next wake-up comes within a minute. */
const MOST_ROUNDS = 10;

interface Watched {
  readonly pulse: Pulse;
  readonly memory: AgendaMemory;
  readonly turn: Pick<Turn, 'isAwaited' | 'onWoken'>;
}

/**
 * Reads one source while something is due and no other process reads it; `elsewhere`: one does. Returns the milliseconds after which something is
 * due, if less than a minute.
 */
export async function readDue(
  session: Session,
  database: Database,
  source: OpenSource,
  watched: Watched,
): Promise<number | 'elsewhere' | null> {
  const { pulse } = watched;
  try {
    return await readWhileDue(session, database, source, watched);
  } catch (error) {
    if (isKind(error, 'database')) pulse.fail(source.name);
    throw error;
  } finally {
    pulse.rest(source.name);
  }
}

async function readWhileDue(
  session: Session,
  database: Database,
  source: OpenSource,
  { pulse, memory, turn }: Watched,
): Promise<number | 'elsewhere' | null> {
  const { clock, draining } = session;
  const log = session.log.child({ source: source.name });
  const reading = {
    ...{ database, source, command: null, noWait: false },
    onEvent(event: LoopEvent) {
      pulse.beat(source.name);
      logEvent(log, event);
    },
  };
  const serves: Serves = {
    orders: () => true,
    slots: true,
    draining,
    yields: true,
    agenda: memory,
    othersWait() {
      // Asked also while the loop only keeps its pace.
      pulse.beat(source.name);
      return turn.isAwaited();
    },
    onWoken: turn.onWoken,
  };
  let begunAt = clock.now();
  for (let round = 0; round < MOST_ROUNDS && !draining.aborted; round++) {
    const due = await whatIsDue(database.kysely, source.name);
    pulse.beat(source.name);
    const hinted = due.now ? [] : await dueHints(database.kysely, source.name, source);
    // The agenda always has a question. One whose turn was short has nothing to ask for now, or others wait.
    const asks = round === 0 || (!turn.isAwaited() && clock.now() - begunAt > MINUTE);
    if (!due.now && hinted.length === 0 && !asks) {
      // The regular wake-up comes within a minute.
      return due.at === null ? null : Math.max(due.at - (await databaseNow(database)), 0) + 1;
    }
    begunAt = clock.now();
    try {
      if (!(await readSource({ ...session, log }, reading, serves))) return 'elsewhere';
    } catch (error) {
      if (isKind(error, 'stopped')) return null;
      throw error;
    }
  }
  return null;
}

function logEvent(log: Log, event: LoopEvent): void {
  const waitMs = 'waitMs' in event ? event.waitMs : 0;
  const until = new Date(Date.now() + waitMs).toISOString();
  // Lanes below live are paced: a wait of seconds is normal.
  if (event.kind === 'waiting')
    log[waitMs > MINUTE ? 'info' : 'debug']({ waitMs, until }, 'waiting for the request limit');
  if (event.kind === 'crowded') log.warn(crowdedText(event.allowed, event.concurrency));
  if (event.kind === 'pausing')
    log.info(
      { resource: event.task.resource.name, waitMs, until },
      'answers may not show the latest changes yet; waiting for answers that no longer lag',
    );
  if (event.kind !== 'ended') return;
  const { task, state } = event;
  const facts = { resource: task.resource.name, kind: task.kind, run: task.runId, order: task.orderId, ...task.counts };
  if (task.state.failure) log.error(facts, explain(task.state.failure));
  else log.info(facts, `${task.resource.name}: ${state}`);
}

/** Throws if no source may be read. If only some may not, it logs them, and their runs fail. */
export async function checkSources(
  session: Session,
  database: Database,
  sources: readonly OpenSource[],
): Promise<void> {
  let refused = 0;
  for (const source of sources) {
    const refusal = await findRefusal(session, database, source);
    if (refusal && ++refused === sources.length) throw refusal;
    if (refusal) session.log.error({ source: source.name }, explain(refusal));
  }
}
