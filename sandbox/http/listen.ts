import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer, type HttpBindings } from '@hono/node-server';
import { MINUTE } from '../../src/clock.ts';
import { SluiceError } from '../../src/errors.ts';

export interface Listening {
  readonly port: number;
  close(): Promise<void>;
}

type Handler = (request: Request, env: HttpBindings) => Response | Promise<Response>;

/** Serves requests until closed; closing ends open connections. Errors of kind `usage`: the port cannot be used. */
export function listen(handler: Handler, port: number, host: string): Promise<Listening> {
  const server = createAdaptorServer({
    fetch: (request, env) => handler(request, env as HttpBindings),
    // Node's global Request and Response stay in place: client and sandbox may share a process.
    overrideGlobalObjects: false,
  }) as Server;
  // Longer than clients keep idle connections; otherwise one may write to a connection that is just closing.
  server.keepAliveTimeout = 2 * MINUTE;
  let closed: Promise<void> | undefined;
  return new Promise((resolve, reject) => {
    server.once('error', cause => {
      reject(
        new SluiceError('usage', `Cannot listen on ${host}:${port}.`, {
          cause,
          next: 'Choose a different --port.',
        }),
      );
    });
    server.listen(port, host, () => {
      resolve({
        port: (server.address() as AddressInfo).port,
        close() {
          closed ??= new Promise((done, failed) => {
            server.close(error => (error ? failed(error) : done()));
            server.closeAllConnections();
          });
          return closed;
        },
      });
    });
  });
}
