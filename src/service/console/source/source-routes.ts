import { Hono } from 'hono';
import { databaseNow } from '../../../warehouse/database/now.ts';
import type { ConsoleParts } from '../console-parts.ts';
import { readDetailedSource } from './source-detail.ts';
import { sourcePage } from './source-page.ts';

export const sourceRoutes = (parts: ConsoleParts): Hono =>
  new Hono().get('/sources/:source', async (c, next) => {
    const source = parts.sources.find(({ name }) => name === c.req.param('source'));
    if (source === undefined) return next();
    const { database, hide } = parts;
    const now = { at: await databaseNow(database), timeZone: source.timeZone };
    const found = await readDetailedSource(parts, source, now.at);
    return c.html(String(await sourcePage(found, now, { hide, months: c.req.query('months') })));
  });
