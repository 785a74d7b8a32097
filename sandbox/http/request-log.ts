interface LoggedRequest {
  method: string;
  /** Path and query, without the key. */
  path: string;
  /** Milliseconds since the epoch, by the sandbox's clock. */
  at: number;
  /** 0 until the response is known. */
  status: number;
}

/** The requests received so far. */
export interface Stats {
  readonly total: number;
  /** Requests by method and path, with `{id}` in place of an id: `GET /api/v2/customers/{id}`. */
  readonly byPath: Readonly<Record<string, number>>;
  /** Requests beyond the limit; a 429 that is a fault does not count. */
  readonly rejected: number;
  /** The maximum number of requests, rejected ones included, in any rolling window of the limit's length. */
  readonly maxInWindow: number;
  /** The latest requests, oldest first, at most `logRequests` of them. */
  readonly requests: readonly LoggedRequest[];
  /** Errors of the sandbox itself, answered with 500; tests check that there are none. */
  readonly failures: readonly unknown[];
  /** Sets all counters to zero and clears the log. */
  reset(): void;
}

export interface RequestLog {
  readonly stats: Stats;
  begin(method: string, path: string, query: string, at: number): LoggedRequest;
  end(request: LoggedRequest, status: number, beyondLimit: boolean): void;
  /** Records an error of the sandbox itself. */
  recordFailure(error: unknown): void;
}

const MAX_FAILURES = 100;
const COMPACT_AFTER = 4096;

/** `logRequests`: how many requests `stats.requests` keeps. Longer than a screen only by its getters. */
export function createRequestLog(options: { windowMs: number; logRequests: number }): RequestLog {
  let total = 0;
  let rejected = 0;
  let maxInWindow = 0;
  let byPath: Record<string, number> = {};
  let log: LoggedRequest[] = [];
  // Arrival times; those before `head` have left the window.
  let recent: number[] = [];
  let head = 0;
  let failures: unknown[] = [];

  const stats: Stats = {
    get total() {
      return total;
    },
    get byPath() {
      return byPath;
    },
    get rejected() {
      return rejected;
    },
    get maxInWindow() {
      return maxInWindow;
    },
    get requests() {
      return log.slice(-options.logRequests || log.length);
    },
    get failures() {
      return failures;
    },
    reset() {
      total = 0;
      rejected = 0;
      maxInWindow = 0;
      byPath = {};
      log = [];
      recent = [];
      head = 0;
      failures = [];
    },
  };

  return {
    stats,
    begin(method, path, query, at) {
      total += 1;
      const key = `${method} ${path.replace(/\/\d+$/, '/{id}')}`;
      byPath[key] = (byPath[key] ?? 0) + 1;
      recent.push(at);
      while ((recent[head] as number) <= at - options.windowMs) head += 1;
      if (head > COMPACT_AFTER) {
        recent = recent.slice(head);
        head = 0;
      }
      maxInWindow = Math.max(maxInWindow, recent.length - head);
      const request = { method, path: query === '' ? path : `${path}?${query}`, at, status: 0 };
      if (options.logRequests > 0) log.push(request);
      if (log.length > 2 * options.logRequests) log = log.slice(-options.logRequests);
      return request;
    },
    end(request, status, beyondLimit) {
      request.status = status;
      if (beyondLimit) rejected += 1;
    },
    recordFailure(error) {
      if (failures.length < MAX_FAILURES) failures.push(error);
    },
  };
}
