import { type Clock, HOUR } from '../../../src/clock.ts';
import { classify, type Verdict } from '../../../src/source/answers/classify.ts';
import type { Expected } from '../../../src/source/answers/envelope.ts';
import { asList } from '../../../src/source/answers/json.ts';
import type { Headers } from '../../../src/source/answers/rate-limit.ts';
import { createAddress } from '../../../src/source/http/address.ts';
import { describeFailure, exchange, openAgent } from '../../../src/source/http/exchange.ts';
import { type Meta, readMeta } from '../../../src/source/paging/page-count.ts';
import { classifyFault } from './classify-fault.ts';

export type Row = Readonly<Record<string, unknown>>;

/** A raw answer, and what Sluice's own client makes of it. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly verdict: Verdict;
  /** Numbers as JSON.parse reads them. */
  readonly data: unknown;
  /** The objects in `data` if it is a list, otherwise undefined. */
  readonly rows: readonly Row[] | undefined;
  /** The number of entries of that list; there may be more than `rows`, because only objects are rows. */
  readonly count: number;
  readonly meta: Meta | undefined;
  /** When the answer was complete, in milliseconds since the epoch. */
  readonly at: number;
  /** Sent with the key under test. */
  readonly withOwnKey: boolean;
}

export interface RequestOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly query?: Readonly<Record<string, string | number>>;
  readonly body?: unknown;
  /** What `data` must be. Default: a list. */
  readonly expect?: Expected;
  /** A key other than the configured one. */
  readonly key?: string;
  /** Returns the name of the fault of an answer that looks valid, or null; a faulty one is requested once more. */
  readonly findFault?: (answer: Answer) => string | null;
}

export interface SenderOptions {
  url: string;
  apiKey: string;
  auth: 'bearer' | 'query';
  clock: Clock;
  /** For one request, up to the last byte of its answer. */
  timeoutMs: number;
}

/** A request without an answer. */
export interface FailedRequest {
  readonly fault: string;
  readonly message: string;
  readonly timedOut: boolean;
}

export interface Sender {
  /** Sends one request, without retries. Rejects only for an invalid address or key. */
  send(path: string, options: RequestOptions): Promise<Answer | FailedRequest>;
  /** Method, path and query, without the key. */
  name(path: string, options: RequestOptions): string;
  /** The fault that an unusable answer shows, by its name. */
  faultIn(answer: Answer, path: string, options: RequestOptions): string;
  close(): Promise<void>;
}

const MAX_BYTES = 64 * 2 ** 20;

/** Uses the parts of Sluice's own client separately, because the checks need the raw answer too. */
export function openSender(senderOptions: SenderOptions, connections = 1): Sender {
  const { clock, timeoutMs } = senderOptions;
  const ownAddress = createAddress(senderOptions);
  const agent = openAgent({ connections, timeoutMs });
  const addressFor = (key: string | undefined) =>
    key === undefined ? ownAddress : createAddress({ ...senderOptions, apiKey: key });

  return {
    async send(path, options) {
      const address = addressFor(options.key);
      const url = address.url(path, queryOf(options));
      const body = options.body === undefined ? undefined : JSON.stringify(options.body);
      const result = await exchange({
        agent,
        method: options.method ?? 'GET',
        url,
        headers: { ...address.headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        body,
        signals: [],
        timeoutMs,
        maxBodyBytes: MAX_BYTES,
      });
      if (result.kind === 'too large')
        return { fault: classifyFault(result, url), message: 'a body of more than 64 MiB', timedOut: false };
      if (result.kind !== 'answer') {
        const place = { origin: ownAddress.origin, host: ownAddress.host, timeoutMs };
        const message =
          result.kind === 'failed' ? ownAddress.hide(describeFailure(result, place)) : 'the request was aborted';
        return { fault: classifyFault(result, url), message, timedOut: result.kind === 'failed' && result.timedOut };
      }
      const { status, headers, text } = result;
      const at = clock.now();
      const verdict = classify(result, options.expect ?? 'list', { nowMs: at, windowMs: HOUR, unused: 0 });
      const { data, meta } = parseEnvelope(text);
      const listed = asList(data);
      const entries = Array.isArray(listed) ? (listed as unknown[]) : undefined;
      const [rows, count] = [entries?.filter(isRow), entries?.length ?? 0];
      const withOwnKey = options.key === undefined;
      return { status, headers, text, verdict, data, rows, count, meta: readMeta(meta), at, withOwnKey };
    },
    name(path, options) {
      const search = new URLSearchParams(queryOf(options)).toString();
      return ownAddress.hide(`${options.method ?? 'GET'} ${path}${search && `?${search}`}`);
    },
    faultIn: (answer, path, options) =>
      classifyFault({ ...answer, kind: 'answer', bytes: 0 }, addressFor(options.key).url(path, queryOf(options))),
    close: () => agent.destroy(),
  };
}

function queryOf({ query = {} }: RequestOptions): Record<string, string> {
  return Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)]));
}

/** Sluice's own rule: any other entry goes to quarantine. */
export const isRow = (entry: unknown): entry is Row =>
  typeof entry === 'object' && entry !== null && !Array.isArray(entry);

function parseEnvelope(text: string): { data?: unknown; meta?: unknown } {
  try {
    const value: unknown = JSON.parse(text.replace(/^\ufeff/, ''));
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
