import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { Hono } from 'hono';
import { type Clock, SECOND } from '../clock.ts';
import { explain, SluiceError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Database } from '../warehouse/database/database.ts';
import { databaseNow } from '../warehouse/database/now.ts';
import { createReadiness, type Pulse } from './health.ts';
import { createMetrics } from './metrics.ts';
import { guard } from './page/access.ts';
import { secureHeaders } from './page/headers.ts';
import { STYLE, statusPage } from './page/status-page.ts';
import { ofEach, type ServedSource } from './served-source.ts';
import { sourceState } from './source-state.ts';
import { createInbox } from './webhooks/inbox.ts';
import { createReceiver } from './webhooks/receiver.ts';

export interface ServiceOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  readonly token: string | null;
  readonly database: Database;
  readonly sources: readonly ServedSource[];
  /** Migrations that have not been run. */
  readonly pending: () => Promise<readonly string[]>;
  readonly pulse: Pick<Pulse, 'stuck'>;
  /** Wakes whoever reads a source, because a webhook left a hint. */
  readonly onHints: (source: string) => Promise<void>;
  /** Takes secrets out of a text. */
  readonly hide: (text: string) => string;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Service {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * The HTTP side of the service: `/` (status page), `/metrics`, `/healthz`, `/readyz`, and `/webhooks/<secret>`. Rejects with the
 * kind `configuration` when it cannot listen there; whether it may, `refuseOpenDoor` tells before.
 */
export async function openService(options: ServiceOptions): Promise<Service> {
  const { host, port, database, onHints, clock, log } = options;
  const inbox = createInbox({ database, onHints, clock, log });
  const server = createAdaptorServer({
    fetch: createApp(options, inbox).fetch,
    // The global Request and Response stay those of Node: the source's client lives in the same process.
    overrideGlobalObjects: false,
  }) as Server;
  // Who sends slowly holds a connection for so long and no longer.
  server.headersTimeout = 10 * SECOND;
  server.requestTimeout = 30 * SECOND;
  await new Promise<void>((resolve, reject) => {
    server.once('error', cause => reject(cannotListen(host, port, cause)));
    server.listen(port, host, resolve);
  });
  server.on('error', error => log.warn({ reason: error.message }, 'the status page'));
  const name = host.includes(':') ? `[${host}]` : host;
  return {
    url: `http://${name}:${(server.address() as AddressInfo).port}`,
    async close() {
      const closed = new Promise<void>(resolve => server.close(() => resolve()));
      server.closeIdleConnections();
      const over = new AbortController();
      const late = clock.sleep(SECOND, over.signal).then(
        () => server.closeAllConnections(),
        () => undefined,
      );
      await Promise.race([closed, late]);
      over.abort();
      await inbox.close();
    },
  };
}

function createApp(options: ServiceOptions, inbox: ReturnType<typeof createInbox>): Hono {
  const { database, sources, pulse, hide, clock, log } = options;
  const metrics = createMetrics({ database, sources });
  const readiness = createReadiness({ database, pending: options.pending, clock });
  const page = shared(async () => {
    const at = await databaseNow(database);
    const states = await ofEach(sources, source =>
      sourceState(database, source, hide).catch((error: unknown) => {
        log.warn({ source: source.name, err: error }, 'the state of a source could not be read');
        return { source, reason: hide(explain(error)) };
      }),
    );
    return String(await statusPage(states, at));
  });

  const app = new Hono();
  app.use(secureHeaders(STYLE));
  // Probes and the source carry no token; what they are told is no secret.
  app.get('/healthz', c => {
    const stuck = pulse.stuck();
    return stuck.length === 0 ? c.text('ok\n') : c.text(`The loop does not go round: ${stuck.join(', ')}\n`, 503);
  });
  app.get('/readyz', async c => {
    const reason = await readiness();
    return reason === null ? c.text('ok\n') : c.text(`${hide(reason)}\n`, 503);
  });
  app.route('/webhooks', createReceiver({ database, sources, inbox, metrics, log }));
  app.use(guard(options.token));
  app.get('/metrics', async c => c.body(await metrics.scrape(), 200, { 'Content-Type': metrics.contentType }));
  app.get('/', async c => c.html(await page()));
  app.notFound(c => c.text('Not found. There are: / /metrics /healthz /readyz\n', 404));
  app.onError((error, c) => {
    // Not the address: it may hold the secret of a webhook.
    log.warn({ method: c.req.method, err: error }, 'a request to the service failed');
    return c.text('That did not work; the log tells why.\n', 500);
  });
  return app;
}

/** Who asks while an answer is being made gets the same. */
function shared<T>(make: () => Promise<T>): () => Promise<T> {
  let making: Promise<T> | undefined;
  return () => {
    making ??= make().finally(() => {
      making = undefined;
    });
    return making;
  };
}

function cannotListen(host: string, port: number, cause: NodeJS.ErrnoException): SluiceError {
  const taken = cause.code === 'EADDRINUSE';
  const why = taken ? 'another program listens there' : `${cause.code ?? cause.message}`;
  return new SluiceError('configuration', `The service cannot listen on ${host}, port ${port}: ${why}.`, {
    cause,
    next: taken
      ? 'Set SLUICE_PORT to a free port (another sluice start on this machine needs one of its own).'
      : 'Set SLUICE_HOST to an address of this machine, and SLUICE_PORT to a port this user may open.',
  });
}
