import { Hono } from 'hono';
import { databaseNow } from '../../../warehouse/database/now.ts';
import { ticksServedWithin } from '../../../warehouse/reports/served-ticks.ts';
import { mapSources } from '../../status/served-source.ts';
import type { ConsoleParts } from '../console-parts.ts';
import { ageTrend } from '../parts/age-trend.ts';
import { readSourceFacts } from '../source-facts.ts';
import { MOST_CARDS, overviewPage } from './overview-page.ts';
import type { Trend } from './source-card.ts';

/** Concurrent requests share one rendering, so that many open pages cost no more than one. */
export function overviewRoutes(parts: ConsoleParts): Hono {
  const { database, sources } = parts;
  const render = async () => {
    const at = await databaseNow(database);
    const read = await mapSources(sources, source => readSourceFacts(parts, source));
    const trends = sources.length > MOST_CARDS ? [] : await readTrends(parts, at);
    return String(await overviewPage(read, trends, at, parts));
  };
  let rendering: Promise<string> | undefined;
  return new Hono().get('/', async c => {
    rendering ??= render().finally(() => {
      rendering = undefined;
    });
    return c.html(await rendering);
  });
}

const HOURS = 24;
/** One each half hour. */
const POINTS = 2 * HOURS;

/** In the order of the sources, on one scale; null where it cannot be read. */
async function readTrends({ database, sources, log }: ConsoleParts, now: number): Promise<(Trend | null)[]> {
  const read = await mapSources(sources, async ({ name, scheduled }) => {
    try {
      const ticks = await ticksServedWithin(database.kysely, name, scheduled, HOURS);
      return ageTrend(ticks, scheduled, { now, hours: HOURS, points: POINTS });
    } catch (error) {
      log.warn({ source: name, err: error }, 'could not read the ticks of a source');
      return null;
    }
  });
  const top = Math.max(0, ...read.flatMap(ages => (ages ?? []).flatMap(age => age ?? [])));
  return read.map(ages => ages && { ages, hours: HOURS, top });
}
