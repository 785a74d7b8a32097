import { Hono } from 'hono';
import { databaseNow } from '../../../warehouse/database/now.ts';
import type { ConsoleParts } from '../console-parts.ts';
import { readSourceFacts } from '../source-facts.ts';
import { readSourceDetail } from './source-detail.ts';
import { sourcePage } from './source-page.ts';

export const sourceRoutes = (parts: ConsoleParts): Hono =>
  new Hono().get('/sources/:source', async (c, next) => {
    const source = parts.sources.find(({ name }) => name === c.req.param('source'));
    if (source === undefined) return next();
    const { database, hide } = parts;
    const { timeZone } = source;
    const at = await databaseNow(database);
    const facts = await readSourceFacts(parts, source);
    const limit = 'status' in facts ? facts.status.usage?.limit : undefined;
    const shown =
      'unreadable' in facts
        ? facts
        : { ...facts, detail: await readSourceDetail(database, source, limit ?? source.rules.limit, at) };
    return c.html(String(await sourcePage(shown, { at, timeZone }, { hide, months: c.req.query('months') })));
  });
