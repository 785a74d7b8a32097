import { onTestFinished } from 'vitest';
import type { Clock } from '../../src/clock.ts';
import { openSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/sandbox.ts';

export const TODAY = '2026-01-15';

/** Time that stands still until it is moved by hand. */
export interface ManualClock extends Clock {
  advance(ms: number): void;
}

export function createManualClock(): ManualClock {
  let now = Date.parse(`${TODAY}T12:00:00Z`);
  return {
    now: () => now,
    sleep: async ms => {
      now += ms;
    },
    advance(ms) {
      now += ms;
    },
  };
}

/** A sandbox of a known day, closed at the end of the test. */
export async function openForTest(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await openSandbox({ clock: createManualClock(), today: TODAY, ...options });
  onTestFinished(() => sandbox.close());
  return sandbox;
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
export type Body = any;

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The parsed text, undefined when it is not JSON. */
  body: Body;
}

/** One real request with the key as a bearer token; `body` makes it a POST unless `method` says otherwise. */
export async function ask(
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

/** The rows of all pages, by following `page` until one is empty. */
export async function askAll(sandbox: Sandbox, path: string, limit = 100): Promise<Body[]> {
  const rows: Body[] = [];
  for (let page = 1; page <= 1000; page += 1) {
    const { body } = await ask(sandbox, `${path}${path.includes('?') ? '&' : '?'}limit=${limit}&page=${page}`);
    if (body.data.length === 0) return rows;
    rows.push(...body.data);
  }
  throw new Error(`${path} has no last page`);
}

export function idsOf(rows: readonly { id: number }[]): number[] {
  return rows.map(({ id }) => id);
}
