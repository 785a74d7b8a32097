import type { Context, Hono } from 'hono';
import { encodeBody } from '../envelopes/encode-body.ts';
import { failure, htmlPage } from '../envelopes/responses.ts';
import { breakConnection, isConnectionFault } from '../faults/break-connection.ts';
import { isListFault } from '../faults/fault-kinds.ts';
import { spoilResponse } from '../faults/spoil-response.ts';
import { isListPath } from '../lists/list-shapes.ts';
import { createInFlight, crowdedResponse } from '../rate-limit/in-flight.ts';
import type { AppDependencies, Env } from './app-dependencies.ts';

import { parseTarget, type RequestTarget } from './request-target.ts';
import { createAnswerCache, lagOf } from './stale-answers.ts';

const ROWS_CHANGED = 3;

/** What every request passes through: activity, log, key, rate limit and faults. */
export function addMiddleware(app: Hono<Env>, dependencies: AppDependencies): void {
  const { log, rateLimit, faults, timeline, variants, clock } = dependencies;
  const inFlight = createInFlight();
  const repeat = createAnswerCache();
  app.use('*', async (c, next) => {
    // A due reset first: activity after it belongs to the new dataset, and webhooks registered now are kept.
    timeline.dataset();
    timeline.catchUp();
    const target = parseTarget(c.req.url);
    const query = target.query.toString();
    const arrivedAt = clock.now();
    const logged = log.begin(c.req.method, target.path, query, arrivedAt);
    const number = log.stats.total;
    const known = keyOf(c, target) === dependencies.apiKey;
    const { concurrency, stale } = variants();
    c.set('lagMs', lagOf(stale, number));
    const isCrowded = known && !inFlight.enter(concurrency);
    if (known && !isCrowded) c.env.outgoing.once('close', () => inFlight.leave());
    const verdict = isCrowded
      ? rateLimit.admitCrowded(arrivedAt)
      : known
        ? rateLimit.admit(arrivedAt)
        : rateLimit.admitUncounted(arrivedAt);
    const list = c.req.method === 'GET' && isListPath(target.path);
    const fault =
      known && verdict.allowed && !isCrowded
        ? faults.choose({ number, path: `${target.path}?${query}`, list })
        : undefined;
    if (dependencies.latencyMs > 0 && !isCrowded) await clock.sleep(dependencies.latencyMs);
    if (!isCrowded) await inFlight.hold(concurrency);
    const { socket } = c.env.incoming;
    if (isConnectionFault(fault)) return await breakConnection(fault, socket);
    if (isListFault(fault)) c.set('fault', fault);
    if (fault === 'list-changes') timeline.changeDuringRequest(ROWS_CHANGED);
    if (!known) c.res = failure(Number(variants()['auth-error']), 'Invalid API key or unauthorized access');
    else if (!verdict.allowed) c.res = rejection(variants()['rejected-body']);
    else if (isCrowded) c.res = crowdedResponse(variants(), arrivedAt);
    // A request answered with 429 must have no effect.
    else if (fault?.includes('-429')) c.res = rejection('json');
    else if (c.req.method === 'GET' && stale === 'cache') await repeat(c, next, arrivedAt);
    else await next();
    if (fault !== undefined && !isListFault(fault)) {
      const { pathname, search } = new URL(c.req.url);
      c.res = await spoilResponse(fault, c.res, { target: pathname + search, socket, now: arrivedAt });
    }
    // Faults read and replace the text.
    if (fault === undefined || isListFault(fault)) c.res = await encodeBody(c.res, variants().charset);
    const headers = rateLimit.headers(verdict, arrivedAt, c.res.status);
    for (const [name, value] of Object.entries(headers)) c.res.headers.set(name, value);
    log.end(logged, c.res.status, !verdict.allowed);
  });
}

function rejection(body: 'json' | 'html'): Response {
  return body === 'html' ? htmlPage(429, '429 Too Many Requests') : failure(429, 'Too many requests');
}

function keyOf(c: Context<Env>, target: RequestTarget): string | undefined {
  return target.key ?? /^Bearer (.+)$/i.exec(c.req.header('authorization') ?? '')?.[1];
}
