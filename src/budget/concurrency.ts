/**
 * How many requests a client has in flight at once. A source that serves fewer refuses the others although its limit is not used up:
 * the number is halved, and raised again by one at a time. A raise that is refused is taken back, and the next one takes twice as many
 * answers, since each costs a refused request.
 */
export interface Concurrency {
  /** As configured. */
  readonly most: number;
  /** Requests that may be in flight now, from 1 to `most`. */
  readonly allowed: number;
  /** The last change was a raise, and not enough answers have confirmed it yet. */
  readonly isTrial: boolean;
  /** Answers since the last change to requests that used every place. */
  readonly answers: number;
  /** Such answers that it takes to raise the number, or to confirm a raise. */
  readonly needed: number;
  /** Changes so far. A refusal of a request sent before the last change says nothing about the number that holds now. */
  readonly round: number;
}

/** What is known of a request when it is sent. */
export interface Sent {
  readonly round: number;
  /** All places were taken. */
  readonly full: boolean;
}

const FEWEST_ANSWERS = 25;
const MOST_ANSWERS = 800;

/** `known`: the number at which an earlier process ended. */
export function startConcurrency(most: number, known = most): Concurrency {
  const allowed = Math.max(1, Math.min(most, known));
  return { most, allowed, isTrial: false, answers: 0, needed: FEWEST_ANSWERS, round: 0 };
}

/** `inFlight` includes the request. */
export const sentAt = ({ round, allowed }: Concurrency, inFlight: number): Sent => ({
  round,
  full: inFlight >= allowed,
});

/** The source refused a request because it serves too many already. */
export function afterRefusal(concurrency: Concurrency, sent: Sent): Concurrency {
  const { allowed, isTrial, needed, round } = concurrency;
  if (sent.round !== round) return concurrency;
  if (allowed === 1) return { ...concurrency, answers: 0, isTrial: false };
  return {
    ...concurrency,
    allowed: isTrial ? allowed - 1 : Math.floor(allowed / 2),
    isTrial: false,
    answers: 0,
    needed: isTrial ? Math.min(2 * needed, MOST_ANSWERS) : FEWEST_ANSWERS,
    round: round + 1,
  };
}

/** The source served a request. */
export function afterAnswer(concurrency: Concurrency, sent: Sent): Concurrency {
  const { allowed, most, isTrial, needed, round } = concurrency;
  if (sent.round !== round || !sent.full || (allowed === most && !isTrial)) return concurrency;
  const answers = concurrency.answers + 1;
  if (answers < needed) return { ...concurrency, answers };
  if (allowed === most) return { ...concurrency, answers: 0, isTrial: false };
  const raised = { ...concurrency, allowed: allowed + 1, isTrial: true, answers: 0, round: round + 1 };
  // A confirmed raise: the source serves more than it did.
  return isTrial ? { ...raised, needed: FEWEST_ANSWERS } : raised;
}
