import { Hono } from 'hono';
import { isKind } from '../../../errors.ts';
import { databaseNow } from '../../../warehouse/database/now.ts';
import { findReferences } from '../../../warehouse/erasure/references.ts';
import { readStory } from '../../record/read-story.ts';
import type { ConsoleParts } from '../console-parts.ts';
import { recordPage } from './record-page.ts';

export const recordRoutes = ({ database, sources, hide }: ConsoleParts): Hono =>
  new Hono().get('/record/:resource/:key', async (c, next) => {
    const { resource: name, key } = c.req.param();
    const asked = c.req.query('source');
    const source = sources.find(each => (asked === undefined || each.name === asked) && each.jobs.has(name));
    const job = source?.jobs.get(name);
    if (source === undefined || job === undefined) return next();
    try {
      const { schema, jobs, timeZone } = source;
      const story = await readStory(database, { source: source.name, schema, name, job }, key);
      const column = `${name.replace(/s$/, '')}_id`;
      const references = await findReferences(database.kysely, { schema, column, id: story.key });
      const now = { at: await databaseNow(database), timeZone };
      const page = { story, jobs, several: sources.length > 1, references, hide };
      return c.html(String(await recordPage(page, now)), story.state === 'unknown' ? 404 : 200);
    } catch (error) {
      if (isKind(error, 'usage')) return next();
      throw error;
    }
  });
