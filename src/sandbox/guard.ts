import type { Context, Hono } from 'hono';
import { readTarget, type Target } from './address.ts';
import { fail, html } from './answers.ts';
import { spoil } from './faults.ts';
import type { AppParts, Env } from './parts.ts';

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
    const fault = known && verdict.allowed ? parts.faults.of(index, target.path) : undefined;
    if (parts.latencyMs > 0) await clock.sleep(parts.latencyMs);
    if (fault === 'drop' || fault === 'hang') {
      if (fault === 'drop') c.env.incoming.destroy();
      return await new Promise<never>(() => {});
    }
    if (!known) c.res = fail(Number(variants()['auth-error']), 'Invalid API key or unauthorized access');
    else if (!verdict.allowed)
      c.res =
        variants()['rejected-body'] === 'html' ? html(429, '429 Too Many Requests') : fail(429, 'Too many requests');
    else await next();
    if (fault !== undefined) c.res = await spoil(fault, c.res);
    for (const [name, value] of Object.entries(gate.headers(verdict, arrivedAt))) c.res.headers.set(name, value);
    traffic.answer(request, c.res.status);
  });
}

function keyOf(c: Context<Env>, target: Target): string | undefined {
  return target.key ?? /^Bearer (.+)$/i.exec(c.req.header('authorization') ?? '')?.[1];
}
