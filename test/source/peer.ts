import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Peer {
  url: string;
  /** What arrived, in order. */
  seen: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[];
  /** The most requests it had open at once. */
  mostAtOnce: () => number;
}

export type Handler = (response: ServerResponse, nth: number, request: IncomingMessage) => void;

/** A real HTTP server on loopback that ends with the test. `handler` gets the ordinal of the request, from 1. */
export async function openPeer(handler: Handler): Promise<Peer> {
  const seen: Peer['seen'] = [];
  let open = 0;
  let most = 0;
  const server = createServer((request, response) => {
    most = Math.max(most, ++open);
    response.on('close', () => open--);
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => {
      seen.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body });
      handler(response, seen.length, request);
    });
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(
    () =>
      new Promise<void>(resolve => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen, mostAtOnce: () => most };
}

export function json(
  response: ServerResponse,
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}
