import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { Hono, type MiddlewareHandler } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { type Clock, SECOND } from '../clock.ts';
import { explain, isKind, SluiceError } from '../errors.ts';
import { createAttemptLimit } from './access/attempt-limit.ts';
import { guardForms } from './access/form-guard.ts';
import { jsonErrors } from './access/json-errors.ts';
import { loginRoutes, logoutRoutes } from './access/login.ts';
import { guardHost, guardToken } from './access/token-guard.ts';
import { type ChangeStream, createChangeStream } from './answers/change-stream.ts';
import { changedRoutes } from './console/changed.ts';
import { closedMonthRoutes } from './console/closed-months.ts';
import { type ConsoleParts, noteUnreadable } from './console/console-parts.ts';
import { CONSOLE_SCRIPT } from './console/console-script.ts';
import { CONSOLE_STYLE } from './console/console-style.ts';
import { exceptionRoutes } from './console/exceptions.ts';
import { fieldRoutes } from './console/fields.ts';
import { createLiveUpdates, type LiveUpdates } from './console/live.ts';
import { newOrderRoutes } from './console/new-order.ts';
import { orderRoutes } from './console/orders.ts';
import { overviewRoutes } from './console/overview.ts';
import { recordRoutes } from './console/record-page.ts';
import { reserveRoutes } from './console/reserve.ts';
import { runsRoutes } from './console/runs.ts';
import { sourceRoutes } from './console/source-page.ts';
import { sqlRoutes } from './console/sql.ts';
import { statusRoutes } from './console/status-documents.ts';
import { dataRoutes } from './console/tables.ts';
import { createReadiness, type Pulse } from './health/health.ts';
import { createMetrics } from './metrics/metrics.ts';
import { createRowCounts } from './status/served-source.ts';
import { createHintInbox, createWebhookReceiver, type HintInbox } from './webhooks/webhook-receiver.ts';

export interface ServiceOptions extends Omit<ConsoleParts, 'isGuarded' | 'rowCounts'> {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly token: string | null;
  /** Names of the pending migrations. */
  readonly pending: () => Promise<readonly string[]>;
  readonly pulse: Pick<Pulse, 'stalled'>;
  readonly clock: Clock;
}

export interface Service {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * The HTTP side of the service: the console, `/status.json`, `/changes`, `/metrics`, `/healthz`, `/readyz` and `/webhooks/<secret>`. Rejects with kind
 * `configuration` when it cannot listen on that address. Call `refuseUnprotectedHost` first.
 */
export async function openService(options: ServiceOptions): Promise<Service> {
  const { host, port, database, clock, log } = options;
  const inbox = createHintInbox({ database, clock, log });
  const live = createLiveUpdates({ database, clock, log });
  const changes = createChangeStream({ database, sources: options.sources, clock, log });
  const server = createAdaptorServer({
    fetch: createApp(options, { inbox, live, changes }).fetch,
    // The source's client in the same process needs Node's own Request and Response.
    overrideGlobalObjects: false,
    // A slow sender must not hold a connection for long. Node looks every 30 seconds by default.
    serverOptions: {
      headersTimeout: 10 * SECOND,
      requestTimeout: 30 * SECOND,
      connectionsCheckingInterval: 2 * SECOND,
    },
  }) as Server;
  await new Promise<void>((resolve, reject) => {
    server.once('error', cause => reject(cannotListen(host, port, cause)));
    server.listen(port, host, resolve);
  });
  server.on('error', error => log.warn({ reason: error.message }, 'HTTP server error'));
  const name = host.includes(':') ? `[${host}]` : host;
  return {
    url: `http://${name}:${(server.address() as AddressInfo).port}`,
    async close() {
      const closed = new Promise<void>(resolve => server.close(() => resolve()));
      await live.close();
      await changes.close();
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

/** `/orders/new` stands before `/orders/:id`. */
const PAGES = [
  ...[overviewRoutes, sourceRoutes, reserveRoutes, runsRoutes, newOrderRoutes, orderRoutes],
  ...[
    dataRoutes,
    fieldRoutes,
    changedRoutes,
    exceptionRoutes,
    closedMonthRoutes,
    recordRoutes,
    sqlRoutes,
    statusRoutes,
  ],
];

function createApp(
  options: ServiceOptions,
  { inbox, live, changes }: { inbox: HintInbox; live: LiveUpdates; changes: ChangeStream },
): Hono {
  const { database, sources, pulse, hide, clock, log } = options;
  const rowCounts = createRowCounts(database);
  const metrics = createMetrics(database, sources, {
    countRows: rowCounts,
    onUnreadable: (source, error) => noteUnreadable(options, source, error),
  });
  const readiness = createReadiness({ database, pending: options.pending, clock, log });

  const app = new Hono();
  app.use(secureHeaders());
  // Probes and the source carry no token, so these responses hold no secret.
  app.get('/healthz', c => {
    const stalled = pulse.stalled();
    return stalled.length === 0 ? c.text('ok\n') : c.text(`Sync loop stalled: ${stalled.join(', ')}\n`, 503);
  });
  app.route('/webhooks', createWebhookReceiver({ database, sources, inbox, onWebhook: metrics.countWebhook, log }));
  // What comes from the source is never taken for a form.
  app.all('/webhooks/*', c => c.notFound());
  app.use('/query', jsonErrors());
  app.use(guardHost(options.token));
  app.get('/readyz', async c => {
    const reason = await readiness();
    return reason === null ? c.text('ok\n') : c.text(`${hide(reason)}\n`, 503);
  });
  app.use(guardForms());
  if (options.token !== null) {
    const door = { token: options.token, attempts: createAttemptLimit({ clock, log }) };
    app.route('/', loginRoutes(door));
    app.use(guardToken(door));
    app.route('/', logoutRoutes());
  }
  app.get('/metrics', async c => c.body(await metrics.scrape(), 200, { 'Content-Type': metrics.contentType }));
  app.get('/console.css', c => c.body(CONSOLE_STYLE, 200, { 'Content-Type': 'text/css; charset=utf-8' }));
  app.get('/console.js', c => c.body(CONSOLE_SCRIPT, 200, { 'Content-Type': 'text/javascript; charset=utf-8' }));
  for (const routes of PAGES) app.route('/', routes({ ...options, isGuarded: options.token !== null, rowCounts }));
  app.route('/', live.routes);
  app.route('/', changes.routes);
  app.notFound(c =>
    c.text(
      'Not found. Available: / /runs /data /sql /status.json /changes /openapi.json /metrics /healthz /readyz\n',
      404,
    ),
  );
  app.onError((error, c) => {
    if (error instanceof HTTPException && error.status === 404) return c.notFound();
    // What a form asks for is not possible, or no longer.
    if (c.req.method === 'POST' && isKind(error, 'usage', 'failed')) return c.text(`${hide(explain(error))}\n`, 409);
    // Without the path, which may hold the secret of a webhook.
    log.warn({ method: c.req.method, err: error }, 'request to the service failed');
    return c.text('Internal error. See the log.\n', 500);
  });
  return app;
}

function cannotListen(host: string, port: number, cause: NodeJS.ErrnoException): SluiceError {
  const taken = cause.code === 'EADDRINUSE';
  const why = taken ? 'another program uses that port' : `${cause.code ?? cause.message}`;
  return new SluiceError('configuration', `The service cannot listen on ${host}, port ${port}: ${why}.`, {
    cause,
    next: taken
      ? 'Set SLUICE_PORT to a free port. Each sluice start on this machine needs its own.'
      : 'Set SLUICE_HOST to an address of this machine, and SLUICE_PORT to a port that this user may open.',
  });
}

const POLICY =
  "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/** Pages load from and submit to nothing but this service, run nothing inline, and are neither embedded nor cached. */
const secureHeaders = (): MiddlewareHandler => async (c, next) => {
  await next();
  c.header('Content-Security-Policy', POLICY);
  c.header('X-Content-Type-Options', 'nosniff');
  c.header('X-Frame-Options', 'DENY');
  // With `no-referrer`, forms would come without the origin that `guardForms` needs.
  c.header('Referrer-Policy', 'same-origin');
  c.header('Cache-Control', 'no-store');
};
