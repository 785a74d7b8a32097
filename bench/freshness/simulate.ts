import { HOUR } from '../../src/clock.ts';
import { coveredBy, createJudge, type Outcome } from './judge.ts';
import { PAGE_ROWS } from './parameters.ts';
import type { Answer, Policy, Question } from './policy.ts';
import { keyOf } from './stream/rows.ts';
import type { Stream } from './stream/stream.ts';

/** The time between a request and the next one of a policy that does not wait. */
const REQUEST_MS = 250;

export interface Run {
  readonly startMs: number;
  /** Changes before it are not judged. */
  readonly measuredFromMs: number;
  readonly measuredToMs: number;
  /** A change of the measured time that is not seen by then counts as unseen. */
  readonly endMs: number;
  readonly requestsPerHour: number;
}

export interface Result {
  readonly outcomes: readonly Outcome[];
  /** Requests in the measured time. */
  readonly requests: number;
  readonly endMs: number;
}

/** Lets a policy read a stream on paper: no HTTP and no database, and time is a number. */
export function simulate(policy: Policy, stream: Stream, run: Run): Result {
  const { startMs, measuredFromMs, measuredToMs, endMs, requestsPerHour } = run;
  const judge = createJudge(policy.lacks, run);
  /** Times of the latest requests, one window of them. */
  const sent = new Float64Array(requestsPerHour).fill(Number.NEGATIVE_INFINITY);
  let total = 0;
  let requests = 0;
  let now = startMs;
  const isOver = () => now >= endMs || (now >= measuredToMs && judge.pending === 0);
  while (!isOver()) {
    const move = policy.next(now);
    const slot = total % requestsPerHour;
    const at = 'untilMs' in move ? move.untilMs : Math.max(now, (sent[slot] as number) + HOUR);
    for (const change of stream.advanceTo(at)) judge.happened(change);
    now = at;
    if ('untilMs' in move) continue;
    sent[slot] = at;
    total++;
    if (at >= measuredFromMs && at < measuredToMs) requests++;
    const answer = answerOf(stream, move, at);
    judge.read(move.list, coveredBy(move, answer.next), answer.rows, at);
    policy.receive(answer);
    now += REQUEST_MS;
  }
  return { outcomes: judge.outcomes(), requests, endMs: now };
}

function answerOf(stream: Stream, question: Question, at: number): Answer {
  const { list, from, to } = question;
  const rows = stream.rows[list];
  const ids = rows.between(from, to, PAGE_ROWS + 1);
  const shown = ids.map(id => ({ id, place: keyOf(rows.dayOf(id), id), version: stream.versionOf(list, id) }));
  const next = shown[PAGE_ROWS]?.place ?? null;
  return { question, at, rows: shown.slice(0, PAGE_ROWS), next };
}
