import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { SECOND } from '../../clock.ts';
import { fail, html } from '../envelopes/responses.ts';
import type { Fault, ListFault } from './fault-kinds.ts';

/** What happens instead of an answer, or to one that was already made. */
export type Spoiling = Exclude<Fault, ListFault | Silence>;
/** Before there is a single byte of an answer. */
export type Silence = 'hang' | 'drop' | 'reset';

interface Scene {
  /** Path and query as they were asked, the key included where it was in them. */
  asked: string;
  socket: Socket;
  now: number;
}

const RETRY_SECONDS = 5;
const DRIP_MS = 100;
const RESET_MS = 20;

/** Never comes to an end: whatever is sent, it is not an answer. */
export function breakOff(fault: Silence, socket: Socket): Promise<never> {
  if (fault === 'drop') socket.destroy();
  if (fault === 'reset') socket.resetAndDestroy();
  return new Promise<never>(() => {});
}

/** What is sent instead of `answer`. */
export async function spoil(fault: Spoiling, answer: Response, { asked, socket, now }: Scene): Promise<Response> {
  switch (fault) {
    case 'success-false':
      return new Response('{"success":false,"message":"Temporarily out of order"}', { headers: jsonOf(answer) });
    case 'empty-200':
      return new Response('', { headers: jsonOf(answer) });
    case 'cut-json':
      return new Response(half(await answer.text()), { headers: jsonOf(answer) });
    case 'hang-body':
      return inPieces(answer, half(await answer.text()), () => new Promise<never>(() => {}));
    case 'reset-body':
      return inPieces(answer, half(await answer.text()), resetAfterSending(socket));
    case 'drip':
      return drip(answer, await answer.text());
    case 'redirect-path':
      return redirect(301, `/login?next=${encodeURIComponent(asked)}`);
    case 'redirect-loop':
      return redirect(302, asked);
    case 'redirect-host':
      return redirect(302, `https://elsewhere.invalid${asked}`);
    case 'huge':
      return huge(answer);
    case 'huge-gzip':
      return new Response(bomb(), { headers: { ...jsonOf(answer), 'content-encoding': 'gzip' } });
    case 'wrong-encoding':
      return new Response(await answer.text(), { headers: { ...jsonOf(answer), 'content-encoding': 'gzip' } });
    default:
      return failWith(fault, now);
  }
}

type WithStatus = Extract<Spoiling, `${'json' | 'html'}-${number}${string}`>;

const TITLES: Readonly<Record<string, string>> = {
  200: 'Maintenance',
  429: '429 Too Many Requests',
  500: '500 Internal Server Error',
  502: '502 Bad Gateway',
  503: '503 Service Unavailable',
};

/** The name of these faults says it all: body, status, and the form of Retry-After. */
function failWith(fault: WithStatus, now: number): Response {
  const [body, status, wait] = fault.split('-') as ['json' | 'html', string, 'seconds' | 'date' | undefined];
  const title = TITLES[status] as string;
  const answer = body === 'html' ? html(Number(status), title) : fail(Number(status), title.slice(4));
  if (wait === 'seconds') answer.headers.set('Retry-After', String(RETRY_SECONDS));
  // HTTP dates have whole seconds.
  const until = Math.ceil(now / SECOND + RETRY_SECONDS) * SECOND;
  if (wait === 'date') answer.headers.set('Retry-After', new Date(until).toUTCString());
  return answer;
}

function jsonOf(answer: Response): Record<string, string> {
  return { 'content-type': answer.headers.get('content-type') ?? 'application/json' };
}

function half(text: string): string {
  return text.slice(0, Math.ceil(text.length / 2));
}

function redirect(status: 301 | 302, location: string): Response {
  return new Response(null, { status, headers: { location } });
}

/** One piece of a body, and then `afterwards`, which does not end it. */
function inPieces(answer: Response, piece: string, afterwards: () => Promise<void>): Response {
  const stream = new ReadableStream<Uint8Array>({
    start: controller => controller.enqueue(new TextEncoder().encode(piece)),
    pull: afterwards,
  });
  return new Response(stream, { headers: jsonOf(answer) });
}

/** A reset overtakes what is still to be sent, so it waits until the first bytes are on their way. */
function resetAfterSending(socket: Socket): () => Promise<void> {
  const before = socket.bytesWritten;
  return async () => {
    while (!socket.destroyed && (socket.bytesWritten === before || socket.writableLength > 0)) await delay(RESET_MS);
    socket.resetAndDestroy();
  };
}

/** Spaces come in the place of the last byte, so that a short body has no end either. */
function drip(answer: Response, text: string): Response {
  const bytes = new TextEncoder().encode(text).subarray(0, -1);
  let sent = 0;
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (sent > 0) await delay(DRIP_MS);
      controller.enqueue(sent < bytes.length ? bytes.slice(sent, sent + 1) : new TextEncoder().encode(' '));
      sent += 1;
    },
  });
  return new Response(stream, { headers: jsonOf(answer) });
}

const MEGABYTE = 2 ** 20;
const HUGE_MEGABYTES = 256;
const HEAD = '{"success":true,"data":[';
const FOOT = ']}';
const spaces = () => Buffer.alloc(MEGABYTE, ' ');

/** An empty list with a lot of space in it: valid to the last byte, for those who would take it. */
function huge(answer: Response): Response {
  const piece = spaces();
  let sent = 0;
  const stream = new ReadableStream<Uint8Array>({
    start: controller => controller.enqueue(Buffer.from(HEAD)),
    pull(controller) {
      sent += 1;
      controller.enqueue(sent <= HUGE_MEGABYTES ? piece : Buffer.from(FOOT));
      if (sent > HUGE_MEGABYTES) controller.close();
    },
  });
  return new Response(stream, { headers: jsonOf(answer) });
}

let packed: Buffer<ArrayBuffer> | undefined;

/** Several gzip files one after the other are a gzip file, so one megabyte is packed once and repeated. */
function bomb(): Buffer<ArrayBuffer> {
  const piece = () => gzipSync(spaces());
  packed ??= Buffer.concat([
    gzipSync(HEAD),
    ...Array.from({ length: HUGE_MEGABYTES }).fill(piece()),
    gzipSync(FOOT),
  ] as Buffer[]);
  return packed;
}
