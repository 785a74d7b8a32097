interface LoggedRequest {
  method: string;
  /** With its query, the key left out. */
  path: string;
  /** Milliseconds since the epoch, by the sandbox's clock. */
  at: number;
  /** 0 while the answer is not yet known. */
  status: number;
}

/** What the sandbox has been asked. */
export interface Stats {
  readonly total: number;
  /** Requests per method and path, ids written as `{id}`: `GET /api/v2/customers/{id}`. */
  readonly byPath: Readonly<Record<string, number>>;
  /** Requests beyond the limit; a 429 that is a fault is none. */
  readonly rejected: number;
  /** The most requests, rejected ones included, in any rolling window of the rate limit's length. */
  readonly maxInWindow: number;
  /** The latest requests, oldest first, at most `logRequests` of them. */
  readonly requests: readonly LoggedRequest[];
  /** What went wrong inside the sandbox itself (answered with 500); a test may ask that there is none. */
  readonly failures: readonly unknown[];
  /** Starts again from nothing. */
  reset(): void;
}

export interface Traffic {
  readonly stats: Stats;
  arrive(method: string, path: string, query: string, at: number): LoggedRequest;
  answer(request: LoggedRequest, status: number, beyondLimit: boolean): void;
  stumble(error: unknown): void;
}

export function createTraffic(options: { windowMs: number; logRequests: number }): Traffic {
  let total = 0;
  let rejected = 0;
  let maxInWindow = 0;
  let byPath: Record<string, number> = {};
  let log: LoggedRequest[] = [];
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
    arrive(method, path, query, at) {
      total += 1;
      const key = `${method} ${path.replace(/\/\d+$/, '/{id}')}`;
      byPath[key] = (byPath[key] ?? 0) + 1;
      recent.push(at);
      while ((recent[head] as number) <= at - options.windowMs) head += 1;
      if (head > 4096) {
        recent = recent.slice(head);
        head = 0;
      }
      maxInWindow = Math.max(maxInWindow, recent.length - head);
      const request = { method, path: query === '' ? path : `${path}?${query}`, at, status: 0 };
      if (options.logRequests > 0) log.push(request);
      if (log.length > 2 * options.logRequests) log = log.slice(-options.logRequests);
      return request;
    },
    answer(request, status, beyondLimit) {
      request.status = status;
      if (beyondLimit) rejected += 1;
    },
    stumble(error) {
      if (failures.length < 100) failures.push(error);
    },
  };
}
