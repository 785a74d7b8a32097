import type { MiddlewareHandler } from 'hono';

/** What was refused, and in most cases what to do, as in `The body is larger than 64 KB.` and `Token required. Send Authorization: ..`. */
const PARTS = /^(?<error>.*?\.)(?:\s+(?<next>.+))?$/s;

/** For programs: errors that the guards and the service answer as text become `{ error, next }`, as those of the route are. */
export const jsonErrors = (): MiddlewareHandler => async (c, next) => {
  await next();
  const { status, headers } = c.res;
  if (status < 400 || headers.get('content-type')?.startsWith('text/plain') !== true) return;
  const text = (await c.res.text()).trim();
  const sent = new Headers(headers);
  sent.set('content-type', 'application/json');
  c.res = undefined;
  c.res = new Response(JSON.stringify(PARTS.exec(text)?.groups ?? { error: text }), { status, headers: sent });
};
