import { Hono } from 'hono';
import { databaseNow } from '../../../warehouse/database/now.ts';
import type { ConsoleParts } from '../console-parts.ts';
import { readSources } from '../read-sources.ts';
import { readDetailedSource } from '../source/source-detail.ts';
import { OPEN_API } from './open-api.ts';
import { overviewDocument, sourceDocument } from './status-documents.ts';

/** The state for programs: what the pages show. */
export function statusRoutes(parts: ConsoleParts): Hono {
  const { database, sources, hide } = parts;
  return new Hono()
    .get('/openapi.json', c => c.json(OPEN_API))
    .get('/status.json', async c => {
      const name = c.req.query('source');
      const at = await databaseNow(database);
      if (name === undefined) return c.json(overviewDocument(await readSources(parts), at, hide));
      const source = sources.find(each => each.name === name);
      if (source === undefined) return c.text(`There is no source "${name}".\n`, 404);
      const { state, detail } = await readDetailedSource(parts, source, at);
      if (detail === null) return c.text(`${state.unreadable}\n`, 503);
      return c.json(sourceDocument(state, detail, at, hide));
    });
}
