import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';

export interface Passed {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests change answers of every shape
  body: any;
}

/** A server that passes everything on to the sandbox, and answers what `change` makes of its answers. Closed at the end of the test. */
export async function openInBetween(
  sandbox: Sandbox,
  change: (answer: Passed, request: { method: string; path: string; query: URLSearchParams }) => Passed,
): Promise<string> {
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => void pass(Buffer.concat(pieces)));
    const pass = async (sent: Buffer) => {
      const { method = 'GET', url = '/', headers } = request;
      const answer = await fetch(sandbox.url + url, {
        method,
        headers: { authorization: String(headers.authorization), 'content-type': 'application/json' },
        ...(sent.length > 0 ? { body: sent.toString() } : {}),
      });
      const { pathname: path, searchParams: query } = new URL(url, sandbox.url);
      const passed = change({ status: answer.status, body: await answer.json() }, { method, path, query });
      for (const [name, value] of answer.headers) if (name.startsWith('x-ratelimit')) response.setHeader(name, value);
      response.writeHead(passed.status, { 'content-type': 'application/json' }).end(JSON.stringify(passed.body));
    };
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(
    () =>
      new Promise<void>(resolve => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
