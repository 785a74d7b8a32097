import { Hono } from 'hono';
import type { Log } from '../../log.ts';
import type { Database } from '../../warehouse/database/database.ts';
import type { ServedSource } from '../status/served-source.ts';
import { CONSOLE_SCRIPT } from './layout/console-script.ts';
import { CONSOLE_STYLE } from './layout/console-style.ts';

/** What the pages are made from. */
export interface ConsoleParts {
  readonly database: Database;
  readonly sources: readonly ServedSource[];
  /** Removes secrets from a text. */
  readonly hide: (text: string) => string;
  readonly log: Log;
}

/** The pages for people, with their style and script. */
export function createConsole(_parts: ConsoleParts): Hono {
  const app = new Hono();
  app.get('/console.css', c => c.body(CONSOLE_STYLE, 200, { 'Content-Type': 'text/css; charset=utf-8' }));
  app.get('/console.js', c => c.body(CONSOLE_SCRIPT, 200, { 'Content-Type': 'text/javascript; charset=utf-8' }));
  // Each section adds its routes here, made from `parts`.
  return app;
}
