import { once } from 'node:events';
import { createServer, request as requestOf } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The sandbox as an installation with one list more. */
export interface Relay {
  url: string;
  /** Requests so far. */
  count: () => number;
  close: () => void;
}

/**
 * The sandbox has no list that the package does not know: this shows its orders once more, as contracts. It also counts
 * what Sluice really sends, apart from the requests that others send to the sandbox itself.
 */
export async function openRelay(sandbox: string): Promise<Relay> {
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    const { method, headers, url = '/' } = request;
    const target = new URL(url.replace(/^\/api\/v2\/contracts\b/, '/api/v2/orders'), sandbox);
    const forwarded = requestOf(target, { method, headers }, answer => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    forwarded.on('error', () => response.destroy());
    request.pipe(forwarded);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    count: () => requests,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
