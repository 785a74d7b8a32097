import { Hono } from 'hono';
import type { ConsoleParts } from './console-parts.ts';
import { CONSOLE_SCRIPT } from './console-script.ts';
import { CONSOLE_STYLE } from './console-style.ts';
import { exceptionRoutes } from './data/exceptions.ts';
import { dataRoutes } from './data/tables.ts';
import { type LiveUpdates, liveRoutes } from './live.ts';
import { newOrderRoutes } from './orders/new-order.ts';
import { orderRoutes } from './orders/order-page.ts';
import { overviewRoutes } from './overview/overview.ts';
import { recordRoutes } from './record/record-page.ts';
import { runsRoutes } from './runs/runs-page.ts';
import { sourceRoutes } from './source/source-page.ts';
import { sqlRoutes } from './sql.ts';
import { statusRoutes } from './status/status-documents.ts';

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
  app.route('/', liveRoutes(live));
  return app;
}
