import { Hono } from 'hono';
import { databaseNow } from '../../../warehouse/database/now.ts';
import type { ConsoleParts } from '../console-parts.ts';
import { readSourceFacts } from '../source-facts.ts';
import { sourcePage } from './source-page.ts';

export const sourceRoutes = (parts: ConsoleParts): Hono =>
  new Hono().get('/sources/:source', async (c, next) => {
    const source = parts.sources.find(({ name }) => name === c.req.param('source'));
    if (source === undefined) return next();
    const at = await databaseNow(parts.database);
    return c.html(String(await sourcePage(await readSourceFacts(parts, source), at, parts)));
  });
