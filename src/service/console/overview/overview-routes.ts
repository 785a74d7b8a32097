import { Hono } from 'hono';
import { databaseNow } from '../../../warehouse/database/now.ts';
import { mapSources } from '../../status/served-source.ts';
import type { ConsoleParts } from '../console-parts.ts';
import { readSourceFacts } from '../source-facts.ts';
import { overviewPage } from './overview-page.ts';

/** Concurrent requests share one rendering, so that many open pages cost no more than one. */
export function overviewRoutes(parts: ConsoleParts): Hono {
  const { database, sources } = parts;
  const render = async () => {
    const at = await databaseNow(database);
    const read = await mapSources(sources, source => readSourceFacts(parts, source));
    return String(await overviewPage(read, at, parts));
  };
  let rendering: Promise<string> | undefined;
  return new Hono().get('/', async c => {
    rendering ??= render().finally(() => {
      rendering = undefined;
    });
    return c.html(await rendering);
  });
}
