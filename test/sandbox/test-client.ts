import { onTestFinished } from 'vitest';
import { openSandbox, type Sandbox, type SandboxOptions } from '../../sandbox/sandbox.ts';
import type { Clock } from '../../src/clock.ts';

export const TODAY = '2026-01-15';

/** Time that advances only by `advance` and `sleep`. */
export interface ManualClock extends Clock {
  advance(ms: number): void;
}

export function createManualClock(): ManualClock {
  let now = Date.parse(`${TODAY}T12:00:00Z`);
  return {
    now: () => now,
    elapsed: () => now,
    sleep: async ms => {
      now += ms;
    },
    advance(ms) {
      now += ms;
    },
  };
}

/** A sandbox with a fixed date, closed at the end of the test. */
export async function openForTest(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await openSandbox({ clock: createManualClock(), today: TODAY, ...options });
  onTestFinished(() => sandbox.close());
  return sandbox;
}

// biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
export type Body = any;

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The parsed text; undefined if it is not JSON. */
  body: Body;
}

/** Sends a request with the key as a bearer token. With a `body` the default method is POST. */
export async function request(
  sandbox: Sandbox,
  path: string,
  options: { method?: string; body?: unknown; key?: string | null } = {},
): Promise<Answer> {
  const key = options.key === undefined ? sandbox.apiKey : options.key;
  const response = await fetch(sandbox.url + path, {
    method: options.method ?? (options.body === undefined ? 'GET' : 'POST'),
    headers: {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(options.body === undefined
      ? {}
      : { body: typeof options.body === 'string' ? options.body : JSON.stringify(options.body) }),
  });
  const text = await response.text();
  let body: Body;
  try {
    body = JSON.parse(text);
  } catch {
    body = undefined;
  }
  return { status: response.status, headers: response.headers, text, body };
}

/** The rows of all pages, up to the first empty page. */
export async function requestAll(sandbox: Sandbox, path: string, limit = 100): Promise<Body[]> {
  const rows: Body[] = [];
  for (let page = 1; page <= 1000; page += 1) {
    const { body } = await request(sandbox, `${path}${path.includes('?') ? '&' : '?'}limit=${limit}&page=${page}`);
    if (body.data.length === 0) return rows;
    rows.push(...body.data);
  }
  throw new Error(`${path} has no last page`);
}

export function idsOf(rows: readonly { id: number }[]): number[] {
  return rows.map(({ id }) => id);
}
