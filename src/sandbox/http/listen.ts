import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer, type HttpBindings } from '@hono/node-server';
import { MINUTE } from '../../clock.ts';
import { SluiceError } from '../../errors.ts';

export interface Listening {
  readonly port: number;
  close(): Promise<void>;
}

type Answer = (request: Request, env: HttpBindings) => Response | Promise<Response>;

/** Serves `answer` until closed; closing cuts the connections that are still open. */
export function listen(answer: Answer, port: number, host: string): Promise<Listening> {
  const server = createAdaptorServer({
    fetch: (request, env) => answer(request, env as HttpBindings),
    // The global Request and Response stay those of Node: client and sandbox may share a process.
    overrideGlobalObjects: false,
  }) as Server;
  // Longer than clients keep an idle connection: else one of them writes to a connection that is just being closed.
  server.keepAliveTimeout = 2 * MINUTE;
  let closed: Promise<void> | undefined;
  return new Promise((resolve, reject) => {
    server.once('error', cause => {
      reject(
        new SluiceError('usage', `The sandbox cannot listen on ${host}:${port}.`, {
          cause,
          next: 'Choose another --port.',
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
