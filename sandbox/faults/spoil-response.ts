import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { SECOND } from '../../src/clock.ts';
import { failure, htmlPage } from '../envelopes/responses.ts';
import type { ConnectionFault } from './break-connection.ts';
import type { Fault, ListFault } from './fault-kinds.ts';
import { hugeBody, hugeGzipBody } from './huge-bodies.ts';

/** Faults that replace a response, or damage it. */
type ResponseFault = Exclude<Fault, ListFault | ConnectionFault>;
/** Their names give the kind of body, the status, and the form of Retry-After. */
type StatusFault = Extract<ResponseFault, `${'json' | 'html'}-${number}${string}`>;

interface Exchange {
  /** Path and query as sent, including the key if it was in them. */
  target: string;
  socket: Socket;
  /** Milliseconds since the epoch. */
  now: number;
}

type Spoil = (response: Response, exchange: Exchange) => Response | Promise<Response>;

const FALSY = ['0', '"0"', '"false"', '"no"', '""', 'null'];
const EMPTY_LIST = '"data":[],"meta":{"current_page":1,"total_pages":1,"total_records":0}';
const RETRY_SECONDS = 5;
const DRIP_MS = 100;
const RESET_POLL_MS = 20;

const spoilBy: Record<Exclude<ResponseFault, StatusFault>, Spoil> = {
  'success-false': response => withBody(response, '{"success":false,"message":"Temporarily out of order"}'),
  'success-falsy': (response, { now }) =>
    withBody(
      response,
      `{"success":${FALSY[Math.floor(now) % FALSY.length]},"message":"Temporarily out of order",${EMPTY_LIST}}`,
    ),
  'error-200': response => withBody(response, `{"error":"Temporarily out of order",${EMPTY_LIST}}`),
  'empty-message': response => withBody(response, '{"success":true,"message":"Scheduled maintenance","data":[]}'),
  'empty-200': response => withBody(response, ''),
  'cut-json': async response => withBody(response, firstHalf(await response.text())),
  'hang-body': async response => unfinished(response, firstHalf(await response.text()), () => new Promise(() => {})),
  'reset-body': async (response, { socket }) =>
    unfinished(response, firstHalf(await response.text()), resetAfterSending(socket)),
  drip: async response => drip(response, await response.text()),
  'redirect-path': (_, { target }) => redirect(301, `/login?next=${encodeURIComponent(target)}`),
  'redirect-loop': (_, { target }) => redirect(302, target),
  'redirect-host': (_, { target }) => redirect(302, `https://elsewhere.invalid${target}`),
  huge: response => withBody(response, hugeBody()),
  'huge-gzip': response => withBody(response, hugeGzipBody(), { 'content-encoding': 'gzip' }),
  'wrong-encoding': async response => withBody(response, await response.text(), { 'content-encoding': 'gzip' }),
};

/** The response that is sent instead of `response`. */
export async function spoilResponse(fault: ResponseFault, response: Response, exchange: Exchange): Promise<Response> {
  return isStatusFault(fault) ? statusResponse(fault, exchange.now) : await spoilBy[fault](response, exchange);
}

function isStatusFault(fault: ResponseFault): fault is StatusFault {
  return !Object.hasOwn(spoilBy, fault);
}

const TITLES: Readonly<Record<string, string>> = {
  200: 'Maintenance',
  404: '404 Not Found',
  429: '429 Too Many Requests',
  500: '500 Internal Server Error',
  502: '502 Bad Gateway',
  503: '503 Service Unavailable',
};

function statusResponse(fault: StatusFault, now: number): Response {
  const [body, status, wait] = fault.split('-') as ['json' | 'html', string, 'seconds' | 'date' | undefined];
  const title = TITLES[status] as string;
  const response = body === 'html' ? htmlPage(Number(status), title) : failure(Number(status), title.slice(4));
  if (wait === 'seconds') response.headers.set('Retry-After', String(RETRY_SECONDS));
  // HTTP dates have whole seconds; rounding down would shorten the wait.
  const until = Math.ceil(now / SECOND + RETRY_SECONDS) * SECOND;
  if (wait === 'date') response.headers.set('Retry-After', new Date(until).toUTCString());
  return response;
}

/** Status 200 and the content type of `response`, with another body. */
function withBody(
  response: Response,
  body: ConstructorParameters<typeof Response>[0],
  headers: Record<string, string> = {},
): Response {
  const type = response.headers.get('content-type') ?? 'application/json';
  return new Response(body, { headers: { 'content-type': type, ...headers } });
}

function firstHalf(text: string): string {
  return text.slice(0, Math.ceil(text.length / 2));
}

function redirect(status: 301 | 302, location: string): Response {
  return new Response(null, { status, headers: { location } });
}

/** Sends one piece of a body, then waits for `afterwards` without ending the body. */
function unfinished(response: Response, piece: string, afterwards: () => Promise<void>): Response {
  const stream = new ReadableStream<Uint8Array>({
    start: controller => controller.enqueue(new TextEncoder().encode(piece)),
    pull: afterwards,
  });
  return withBody(response, stream);
}

/** A reset overtakes data that is still buffered, so wait until the first bytes have been written. */
function resetAfterSending(socket: Socket): () => Promise<void> {
  const before = socket.bytesWritten;
  return async () => {
    while (!socket.destroyed && (socket.bytesWritten === before || socket.writableLength > 0))
      await delay(RESET_POLL_MS);
    socket.resetAndDestroy();
  };
}

/** Spaces replace the last byte, so that even a short body never ends. */
function drip(response: Response, text: string): Response {
  const bytes = new TextEncoder().encode(text).subarray(0, -1);
  let sent = 0;
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (sent > 0) await delay(DRIP_MS);
      controller.enqueue(sent < bytes.length ? bytes.slice(sent, sent + 1) : new TextEncoder().encode(' '));
      sent += 1;
    },
  });
  return withBody(response, stream);
}
