import type { Context, Hono } from 'hono';
import { fail, html } from '../envelopes/responses.ts';
import { isListFault } from '../faults/fault-kinds.ts';
import { breakOff, spoil } from '../faults/spoil-response.ts';
import { isListPath } from '../lists/answer-list.ts';
import type { AppParts, Env } from './app-dependencies.ts';
import { readTarget, type Target } from './request-target.ts';

/** What every request meets first: the count, the key, the limit, and what may go wrong. */
export function guard(app: Hono<Env>, parts: AppParts): void {
  const { traffic, gate, clock } = parts;
  const variants = () => parts.variants();
  app.use('*', async (c, next) => {
    parts.catchUp();
    const target = readTarget(c.req.url);
    const arrivedAt = clock.now();
    const request = traffic.arrive(c.req.method, target.path, target.query.toString(), arrivedAt);
    const index = traffic.stats.total;
    const known = keyOf(c, target) === parts.apiKey;
    const verdict = known ? gate.enter(arrivedAt) : gate.unknown(arrivedAt);
    const list = c.req.method === 'GET' && isListPath(target.path);
    const fault =
      known && verdict.allowed
        ? parts.faults.of({ index, path: `${target.path}?${target.query.toString()}`, list })
        : undefined;
    if (parts.latencyMs > 0) await clock.sleep(parts.latencyMs);
    const { socket } = c.env.incoming;
    if (fault === 'hang' || fault === 'drop' || fault === 'reset') return await breakOff(fault, socket);
    if (isListFault(fault)) c.set('fault', fault);
    if (fault === 'list-changes') parts.change();
    if (!known) c.res = fail(Number(variants()['auth-error']), 'Invalid API key or unauthorized access');
    else if (!verdict.allowed)
      c.res =
        variants()['rejected-body'] === 'html' ? html(429, '429 Too Many Requests') : fail(429, 'Too many requests');
    // What is told to have come too soon is not carried out.
    else if (fault?.includes('-429')) c.res = fail(429, 'Too many requests');
    else await next();
    if (fault !== undefined && !isListFault(fault)) {
      const { pathname, search } = new URL(c.req.url);
      c.res = await spoil(fault, c.res, { asked: pathname + search, socket, now: arrivedAt });
    }
    const headers = gate.headers(verdict, arrivedAt, c.res.status);
    for (const [name, value] of Object.entries(headers)) c.res.headers.set(name, value);
    traffic.answer(request, c.res.status, !verdict.allowed);
  });
}

function keyOf(c: Context<Env>, target: Target): string | undefined {
  return target.key ?? /^Bearer (.+)$/i.exec(c.req.header('authorization') ?? '')?.[1];
}
