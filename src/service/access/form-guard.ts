import type { Context, MiddlewareHandler } from 'hono';

const MOST_BYTES = 64 * 1024;
const SEND_JSON = 'Send Content-Type: application/json.\n';
const READING: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

/**
 * Whatever is no GET must be a form that a page of this service sent: urlencoded, and at most 64 KB. Cookies that pages of other sites never
 * send are not enough: without a token there is none. Routes read the form with `formFields`. Programs may send JSON to `/query`, which browsers let
 * no page of another site do.
 */
export function guardForms(): MiddlewareHandler {
  return async (c, next) => {
    if (READING.includes(c.req.method)) return next();
    const type = c.req.header('content-type')?.split(';')[0]?.trim().toLowerCase();
    const isQuery = c.req.path === '/query';
    const isJson = isQuery && type === 'application/json';
    if (isQuery && isProgram(c)) {
      if (!isJson) return c.text(`The request is not JSON. ${SEND_JSON}`, 415);
    } else if (!isFromHere(c)) return c.text('Refused: this form was sent by a page of another site.\n', 403);
    // The length bounds the body: Node reads no more, and refuses requests that have both headers.
    if (c.req.header('transfer-encoding') !== undefined) return c.text('Send Content-Length.\n', 411);
    if (Number(c.req.header('content-length') ?? 0) > MOST_BYTES)
      return c.text('The body is larger than 64 KB.\n', 413);
    if (type !== undefined && type !== 'application/x-www-form-urlencoded' && !isJson)
      return c.text('Send application/x-www-form-urlencoded.\n', 415);
    return next();
  };
}

/** The fields of a form that are texts. */
export async function formFields(c: Context): Promise<Readonly<Record<string, string | undefined>>> {
  const fields = Object.entries(await c.req.parseBody());
  return Object.fromEntries(fields.flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])));
}

/**
 * What the browser says about the page that sent a request: `Sec-Fetch-Site` over HTTPS and to localhost, else `Origin`, which must name this
 * host. hono's `csrf` also admits a foreign `Sec-Fetch-Site` with the right `Origin`, and compares schemes, which a proxy with TLS changes.
 */
function isFromHere(c: Context): boolean {
  const site = c.req.header('sec-fetch-site');
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  const origin = c.req.header('origin') ?? '';
  return URL.canParse(origin) && new URL(origin).host === c.req.header('host')?.toLowerCase();
}

/** Browsers send at least one of these with whatever a page sends. */
const isProgram = (c: Context): boolean =>
  c.req.header('sec-fetch-site') === undefined && c.req.header('origin') === undefined;
