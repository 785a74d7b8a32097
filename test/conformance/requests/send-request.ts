import { type Clock, HOUR } from '../../../src/clock.ts';
import { classify, type Expected, type Verdict } from '../../../src/source/answers/answer.ts';
import { type Meta, readMeta } from '../../../src/source/answers/meta.ts';
import { createAddress } from '../../../src/source/http/address.ts';
import { describeFailure, exchange, openAgent } from '../../../src/source/http/exchange.ts';
import type { Headers } from '../../../src/source/http/rate-headers.ts';
import { faultOf } from './classify-fault.ts';

export type Row = Readonly<Record<string, unknown>>;

/** An answer as it came, and what Sluice's own client makes of it. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly verdict: Verdict;
  /** Numbers as JSON.parse reads them. */
  readonly data: unknown;
  /** The objects of `data` where that is a list, else undefined. */
  readonly rows: readonly Row[] | undefined;
  /** The entries of that list, which may be more: what is no object is no row. */
  readonly count: number;
  readonly meta: Meta | undefined;
  /** When it was complete, in milliseconds since the epoch. */
  readonly at: number;
  /** Sent with the key that counts. */
  readonly own: boolean;
}

export interface Question {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly query?: Readonly<Record<string, string | number>>;
  readonly body?: unknown;
  /** What `data` has to be. Default a list. */
  readonly expect?: Expected;
  /** Another key than the right one. */
  readonly key?: string;
  /** Says what is not true about an answer that looks healthy, by the name of the fault; such an answer is asked for once more. */
  readonly doubt?: (answer: Answer) => string | null;
}

export interface SenderOptions {
  url: string;
  apiKey: string;
  auth: 'bearer' | 'query';
  clock: Clock;
  /** For one request, to the last byte of its answer. */
  timeoutMs: number;
}

/** What came instead of an answer. */
export interface NoAnswer {
  readonly fault: string;
  readonly what: string;
  readonly timedOut: boolean;
}

export interface Sender {
  /** One request, which is never repeated; it rejects for a wrong address or key only. */
  send(path: string, question: Question): Promise<Answer | NoAnswer>;
  /** Method, path and query, without the key. */
  name(path: string, question: Question): string;
  /** How an answer that is none looks, by the names of faults. */
  faultIn(answer: Answer, path: string, question: Question): string;
  close(): Promise<void>;
}

const MOST_BYTES = 64 * 2 ** 20;

/** The parts of Sluice's own client one by one, because what the client makes of an answer is not all that is to be judged. */
export function openSender(options: SenderOptions): Sender {
  const { clock, timeoutMs } = options;
  const right = createAddress(options);
  const agent = openAgent({ connections: 1, timeoutMs });
  const addressFor = (key: string | undefined) =>
    key === undefined ? right : createAddress({ ...options, apiKey: key });

  return {
    async send(path, question) {
      const address = addressFor(question.key);
      const url = address.url(path, queryOf(question));
      const body = question.body === undefined ? undefined : JSON.stringify(question.body);
      const came = await exchange({
        agent,
        method: question.method ?? 'GET',
        url,
        headers: { ...address.headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        body,
        signals: [],
        timeoutMs,
        maxBodyBytes: MOST_BYTES,
      });
      if (came.kind === 'too large')
        return { fault: faultOf(came, url), what: 'a body of more than 64 MiB', timedOut: false };
      if (came.kind !== 'answer') {
        const place = { origin: right.origin, host: right.host, timeoutMs };
        const what = came.kind === 'failed' ? right.hide(describeFailure(came, place)) : 'given up';
        return { fault: faultOf(came, url), what, timedOut: came.kind === 'failed' && came.timedOut };
      }
      const { status, headers, text } = came;
      const at = clock.now();
      const verdict = classify(came, question.expect ?? 'list', { nowMs: at, windowMs: HOUR });
      const { data, meta } = decoded(text);
      const entries = Array.isArray(data) ? (data as unknown[]) : undefined;
      const [rows, count] = [entries?.filter(isRow), entries?.length ?? 0];
      const own = question.key === undefined;
      return { status, headers, text, verdict, data, rows, count, meta: readMeta(meta), at, own };
    },
    name(path, question) {
      const search = new URLSearchParams(queryOf(question)).toString();
      return right.hide(`${question.method ?? 'GET'} ${path}${search && `?${search}`}`);
    },
    faultIn: (answer, path, question) =>
      faultOf({ ...answer, kind: 'answer', bytes: 0 }, addressFor(question.key).url(path, queryOf(question))),
    close: () => agent.destroy(),
  };
}

function queryOf({ query = {} }: Question): Record<string, string> {
  return Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)]));
}

/** As Sluice sees it: anything else goes to quarantine. */
export const isRow = (entry: unknown): entry is Row =>
  typeof entry === 'object' && entry !== null && !Array.isArray(entry);

function decoded(text: string): { data?: unknown; meta?: unknown } {
  try {
    const value: unknown = JSON.parse(text.replace(/^\ufeff/, ''));
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
