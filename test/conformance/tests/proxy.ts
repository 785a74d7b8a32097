import type { Sandbox } from '../../../sandbox/sandbox.ts';
import { json, openPeer } from '../../source/peer.ts';

export interface ProxiedAnswer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests change answers of every shape
  body: any;
  /** Sent instead of the body as JSON. */
  text?: string;
}

/** A server that forwards requests to the sandbox and returns what `change` makes of the answers, if anything. Closed at the end of the test. */
export async function openProxy(
  sandbox: Sandbox,
  change: (
    answer: ProxiedAnswer,
    request: { method: string; path: string; query: URLSearchParams },
  ) => ProxiedAnswer | 'no answer',
): Promise<string> {
  const peer = await openPeer((response, nth, request) => {
    const pass = async (sent: string) => {
      const { method = 'GET', url = '/', headers } = request;
      const answer = await fetch(sandbox.url + url, {
        method,
        headers: { authorization: String(headers.authorization), 'content-type': 'application/json' },
        ...(sent.length > 0 ? { body: sent } : {}),
      });
      const { pathname: path, searchParams: query } = new URL(url, sandbox.url);
      const passed = change({ status: answer.status, body: await answer.json() }, { method, path, query });
      if (passed === 'no answer') return;
      const limits = [...answer.headers].filter(([name]) => name.startsWith('x-ratelimit'));
      json(response, passed.text ?? JSON.stringify(passed.body), passed.status, Object.fromEntries(limits));
    };
    void pass(peer.seen[nth - 1]?.body ?? '');
  });
  return peer.url;
}
