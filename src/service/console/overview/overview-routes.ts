import { Hono } from 'hono';
import { databaseNow } from '../../../warehouse/database/now.ts';
import { listRuns } from '../../../warehouse/reports/run-history.ts';
import type { ConsoleParts } from '../console-parts.ts';
import { readSource, readSources } from '../read-sources.ts';
import { cardsPage, fleetPage, type OnlySource } from './overview-page.ts';
import { createCards } from './read-cards.ts';

/** From so many sources on, a table shows more of them at once than cards. */
const MOST_CARDS = 12;
const LATEST_RUNS = 5;

/** Concurrent requests share one rendering, so that many open pages cost no more than one. */
export function overviewRoutes(parts: ConsoleParts): Hono {
  const { database, sources } = parts;
  const readCards = createCards(parts);
  const render = async () => {
    const at = await databaseNow(database);
    const states = await readSources(parts);
    if (sources.length > MOST_CARDS) return String(await fleetPage(states, at, parts));
    const [source, ...others] = sources;
    const only = source !== undefined && others.length === 0 ? await readOnly(parts, source) : null;
    return String(await cardsPage(await readCards(states, at), only, at, parts));
  };
  let rendering: Promise<string> | undefined;
  return new Hono().get('/', async c => {
    rendering ??= render().finally(() => {
      rendering = undefined;
    });
    return c.html(await rendering);
  });
}

async function readOnly(parts: ConsoleParts, source: ConsoleParts['sources'][number]): Promise<OnlySource> {
  const state = await readSource(parts, source);
  return { state, runs: await listRuns(parts.database.kysely, { sources: [source.name] }, LATEST_RUNS) };
}
