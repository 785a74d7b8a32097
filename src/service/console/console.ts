import { Hono } from 'hono';
import type { ConsoleParts } from './console-parts.ts';
import { CONSOLE_SCRIPT } from './console-script.ts';
import { CONSOLE_STYLE } from './console-style.ts';
import { exceptionRoutes } from './exceptions.ts';
import type { LiveUpdates } from './live.ts';
import { newOrderRoutes } from './new-order.ts';
import { orderRoutes } from './orders.ts';
import { overviewRoutes } from './overview.ts';
import { recordRoutes } from './record-page.ts';
import { runsRoutes } from './runs.ts';
import { sourceRoutes } from './source-page.ts';
import { sqlRoutes } from './sql.ts';
import { statusRoutes } from './status-documents.ts';
import { dataRoutes } from './tables.ts';

/** The pages for people, with their style and script. */
export function createConsole(parts: ConsoleParts, live: LiveUpdates): Hono {
  const app = new Hono();
  app.get('/console.css', c => c.body(CONSOLE_STYLE, 200, { 'Content-Type': 'text/css; charset=utf-8' }));
  app.get('/console.js', c => c.body(CONSOLE_SCRIPT, 200, { 'Content-Type': 'text/javascript; charset=utf-8' }));
  const pages = [
    overviewRoutes,
    sourceRoutes,
    runsRoutes,
    newOrderRoutes,
    orderRoutes,
    dataRoutes,
    exceptionRoutes,
    recordRoutes,
    sqlRoutes,
  ];
  for (const routes of [...pages, statusRoutes]) app.route('/', routes(parts));
  app.route('/', live.routes);
  return app;
}
