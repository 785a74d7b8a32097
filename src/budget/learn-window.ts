import { type Clock, MINUTE, SECOND } from '../clock.ts';
import type { Budget } from './budget.ts';
import { type Evidence, forgetsFast, observeReport, serverWindowOf } from './server-window.ts';

/** The limit of a server, and the time over which it counts. */
export interface ServerWindow {
  readonly limit: number;
  readonly windowMs: number;
}

/** The server's clock and ours may differ by so much. */
const AFTER_RESET_MS = 5 * SECOND;
/** Requests of the limit that are kept for questions, at most. */
const MOST_QUESTIONS = 8;
/** With a shorter window of ours there is little to gain. */
const LEAST_WINDOW_MS = 10 * MINUTE;

/**
 * Finds out whether the server counts its limit over a shorter window than ours. While all its resets are near, a few requests of the
 * limit as we count it are kept back. When the rest is used up, each asks, after an announced reset, what the server has forgotten. A
 * refusal disproves all: nothing is learnt for a window.
 */
export function learnServerWindow(
  budget: Budget,
  { clock, windowMs, onWindow }: { clock: Clock; windowMs: number; onWindow?: (found: ServerWindow | null) => void },
): Budget {
  if (windowMs < LEAST_WINDOW_MS) return budget;
  const sentAt = new Map<string, number>();
  let evidence: Evidence | null = null;
  let found: ServerWindow | null = null;
  /** When the next question may be asked, by the last reset. */
  let asksAt = 0;
  let questions = 0;
  let question: string | null = null;
  let restsUntil = Number.NEGATIVE_INFINITY;

  const kept = () =>
    evidence && !found ? Math.max(0, Math.min(MOST_QUESTIONS, Math.floor(evidence.limit / 2)) - questions) : 0;

  function forget(): void {
    if (found) onWindow?.(null);
    [evidence, found, questions] = [null, null, 0];
  }

  return {
    async take(lane, want) {
      const before = clock.now();
      let taken = await budget.take(lane, want, kept());
      if (taken.grants.length === 0 && !taken.paced && kept() > 0) {
        const untilMs = asksAt - clock.now();
        if (untilMs > 0) taken = { ...taken, waitMs: Math.min(taken.waitMs, untilMs) };
        else {
          asksAt = Number.POSITIVE_INFINITY;
          taken = await budget.take(lane, 1);
          question = taken.grants[0]?.id ?? null;
          if (question !== null) questions++;
        }
      }
      for (const { id } of taken.grants) sentAt.set(id, before);
      return taken;
    },
    async settle(grant, settlement) {
      const { status, crowded, limit, remaining, resetMs } = settlement;
      const at = clock.now();
      const sent = sentAt.get(grant.id);
      sentAt.delete(grant.id);
      if (status === 429 && !crowded) {
        forget();
        restsUntil = at + windowMs;
      } else if (sent !== undefined && limit !== undefined && remaining !== undefined && at >= restsUntil) {
        evidence = observeReport(evidence, { sentAt: sent, at, limit, remaining, resetMs }, windowMs);
        if (!evidence || (found && (limit !== found.limit || (resetMs ?? 0) > found.windowMs))) forget();
        const proven = serverWindowOf(evidence, windowMs);
        if (proven !== undefined && proven < (found?.windowMs ?? windowMs)) {
          found = { limit, windowMs: proven };
          onWindow?.(found);
        }
        if (question === grant.id && evidence && !forgetsFast(evidence, windowMs)) {
          forget();
          restsUntil = at + windowMs;
        }
        asksAt = at + Math.max(resetMs ?? 0, AFTER_RESET_MS * 2 ** questions) + AFTER_RESET_MS;
      }
      await budget.settle(grant, found ? { ...settlement, serverWindowMs: found.windowMs } : settlement);
    },
    release(grants) {
      for (const { id } of grants) sentAt.delete(id);
      return budget.release(grants);
    },
  };
}
