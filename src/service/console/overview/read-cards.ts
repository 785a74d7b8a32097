import type { Usage } from '../../../budget/ledger/usage.ts';
import { MINUTE } from '../../../clock.ts';
import { explain } from '../../../errors.ts';
import { ticksServedWithin } from '../../../warehouse/reports/served-ticks.ts';
import { readDelays } from '../../status/resource-delays.ts';
import { mapSources, type ServedSource } from '../../status/served-source.ts';
import type { ConsoleParts } from '../console-parts.ts';
import { ageTrend } from '../parts/age-trend.ts';
import type { FleetSource } from './fleet.ts';

/** What a card shows beyond the table of many sources. */
export type CardSource = FleetSource & { readonly detail: CardDetail | null };

export interface CardDetail {
  readonly usage: Usage;
  readonly nextTickAt: number | null;
  /** Of the slowest of its lists, on average; null while it is not known. */
  readonly delaySeconds: number | null;
  /** How long ago it had last been up to date, oldest first (milliseconds); null where it had never been. */
  readonly ages: readonly (number | null)[];
}

/** The time that the ages of a card cover. */
export const TREND_HOURS = 24;
/** One each half hour. */
const POINTS = 2 * TREND_HOURS;
/** An expected delay changes slowly, and takes longer to compute than all else on a card. */
const DELAY_KEPT_MS = MINUTE;

export type ReadCards = (fleet: readonly FleetSource[], now: number) => Promise<CardSource[]>;

export function createCards({ database, sources, hide, log }: ConsoleParts): ReadCards {
  const delays = new Map<string, { readonly at: number; readonly seconds: number | null }>();
  const delayOf = async (source: ServedSource, usage: Usage, now: number) => {
    const kept = delays.get(source.name);
    if (kept && Math.abs(now - kept.at) < DELAY_KEPT_MS) return kept.seconds;
    const means = (await readDelays(database, source, usage)).flatMap(({ expected }) => expected?.meanSeconds ?? []);
    const seconds = means.length === 0 ? null : Math.max(...means);
    delays.set(source.name, { at: now, seconds });
    return seconds;
  };
  return (fleet, now) =>
    mapSources(sources, async (source): Promise<CardSource> => {
      const { name, scheduled, timeZone } = source;
      const gist = fleet.find(each => each.name === name) ?? { name, timeZone, unreadable: 'It is not configured.' };
      if ('unreadable' in gist) return { ...gist, detail: null };
      try {
        const usage = await source.usage();
        const ticks = await ticksServedWithin(database.kysely, name, scheduled, TREND_HOURS);
        const ages = ageTrend(ticks, scheduled, { now, hours: TREND_HOURS, points: POINTS });
        const delaySeconds = await delayOf(source, usage, now);
        return { ...gist, detail: { usage, nextTickAt: source.nextTickAt(now), delaySeconds, ages } };
      } catch (error) {
        log.warn({ source: name, err: error }, 'could not read the state of a source');
        return { name, timeZone, unreadable: hide(explain(error)), detail: null };
      }
    });
}
