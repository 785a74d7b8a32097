import type { Context, Next } from 'hono';
import { SECOND } from '../../src/clock.ts';
import { mix } from '../data/random.ts';
import type { Variants } from '../variants/variants.ts';
import type { Env } from './app-dependencies.ts';

/** The most that a replica lags behind, and the longest that a cache keeps an answer. */
export const MOST_STALE_MS = 60 * SECOND;
const LEAST_LAG_MS = 3 * SECOND;

/** How far behind the replica is that serves a request; it varies by the number of the request. */
export function lagOf(stale: Variants['stale'], number: number): number {
  return stale === 'replica' ? LEAST_LAG_MS + (mix(number, 0x1a6) % (MOST_STALE_MS - LEAST_LAG_MS + 1)) : 0;
}

/** Counts that are kept for the same question. */
export function createCountCache(): (question: string, count: number, now: number) => number {
  const counts = new Map<string, { readonly at: number; readonly count: number }>();
  return (question, count, now) => {
    const kept = counts.get(question);
    if (kept !== undefined && kept.at > now - MOST_STALE_MS && kept.at <= now) return kept.count;
    counts.set(question, { at: now, count });
    return count;
  };
}

interface CachedAnswer {
  readonly at: number;
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

/** Answers that are repeated for requests to the same address. */
export function createAnswerCache(): (c: Context<Env>, next: Next, now: number) => Promise<void> {
  const answers = new Map<string, CachedAnswer>();
  return async (c, next, now) => {
    const { pathname, search } = new URL(c.req.url);
    const address = pathname + search;
    for (const [each, { at }] of answers) if (at <= now - MOST_STALE_MS) answers.delete(each);
    let answer = answers.get(address);
    if (answer === undefined) {
      await next();
      const { status, headers, ok } = c.res;
      if (!ok) return;
      answer = { at: now, status, type: headers.get('content-type') ?? '', text: await c.res.text() };
      answers.set(address, answer);
    }
    const { status, type, text } = answer;
    c.res = new Response(text, { status, headers: { 'content-type': type } });
  };
}
