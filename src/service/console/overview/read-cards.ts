import type { Usage } from '../../../budget/ledger/usage.ts';
import { MINUTE } from '../../../clock.ts';
import { ticksServedWithin } from '../../../warehouse/reports/activity.ts';
import { readDelays } from '../../status/resource-delays.ts';
import { mapSources, type ServedSource } from '../../status/served-source.ts';
import { type SourceState, unreadableState } from '../../status/source-state.ts';
import type { ConsoleParts } from '../console-parts.ts';
import { ageTrend } from '../parts/age-trend.ts';
import { noteUnreadable } from '../read-sources.ts';

export interface Card {
  readonly source: SourceState;
  /** Null where the source cannot be read. */
  readonly detail: CardDetail | null;
}

/** What a card shows beyond the table of many sources. */
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

export type ReadCards = (states: readonly SourceState[], now: number) => Promise<Card[]>;

export function createCards(parts: ConsoleParts): ReadCards {
  const { database, sources } = parts;
  const delays = new Map<string, { readonly at: number; readonly seconds: number | null }>();
  const delayOf = async (source: ServedSource, usage: Usage, now: number) => {
    const kept = delays.get(source.name);
    if (kept && Math.abs(now - kept.at) < DELAY_KEPT_MS) return kept.seconds;
    const means = (await readDelays(database, source, usage)).flatMap(({ expected }) => expected?.meanSeconds ?? []);
    const seconds = means.length === 0 ? null : Math.max(...means);
    delays.set(source.name, { at: now, seconds });
    return seconds;
  };
  return (states, now) =>
    mapSources(sources, async (source): Promise<Card> => {
      const state = states.find(({ name }) => name === source.name);
      if (state === undefined || state.unreadable !== null)
        return { source: state ?? unreadableState(source, 'It is not configured.'), detail: null };
      try {
        const usage = await source.usage();
        const ticks = await ticksServedWithin(database.kysely, source.name, source.scheduled, TREND_HOURS);
        const ages = ageTrend(ticks, source.scheduled, { now, hours: TREND_HOURS, points: POINTS });
        const delaySeconds = await delayOf(source, usage, now);
        return { source: state, detail: { usage, nextTickAt: source.nextTickAt(now), delaySeconds, ages } };
      } catch (error) {
        return { source: unreadableState(source, noteUnreadable(parts, source, error)), detail: null };
      }
    });
}
