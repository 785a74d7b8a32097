import { type Forecast, lastingRate, STEPS, wholeLimit } from '../../budget/forecast.ts';
import { type Clock, SECOND } from '../../clock.ts';
import type { PaceRule } from '../agenda/pace.ts';

/** What was left of the limit. */
export interface LimitSeen {
  readonly forecast: Forecast;
  /** When (epoch ms). */
  readonly at: number;
  /** Requests that had been granted to live readings by then. */
  readonly granted: number;
}

export interface Limit {
  /** Requests per window of `windowMs`. */
  readonly limit: number;
  readonly windowMs: number;
}

/** The share of the limit that the agenda leaves to people and hints. */
const RESERVE = 0.005;
/** Even a small limit pays for an answer of a few pages. */
const LEAST_SAVED = 4;

/**
 * How fast the agenda may spend: evenly, so that what is left lasts. While others wait for requests it takes half. It saves what can be
 * spent during one step of the forecast.
 */
export function paceRule({ limit, windowMs }: Limit, { forecast }: LimitSeen, othersWait: boolean): PaceRule {
  const rate = Math.min(lastingRate(forecast, RESERVE * limit), limit / windowMs);
  return { rate: othersWait ? rate / 2 : rate, most: Math.max(limit / STEPS, Math.min(LEAST_SAVED, limit)) };
}

/** A look at the limit holds for twelve seconds of an hour. What follows from it takes time, however short the window. */
export const isSeenLately = ({ windowMs }: Limit, { at }: LimitSeen, now: number): boolean =>
  now - at < Math.max(windowMs / STEPS / 10, SECOND);

/** Requests that the agenda may send now without touching its reserve. */
export const freeFor = ({ limit }: Limit, seen: LimitSeen, granted: number): number =>
  seen.forecast.free - (granted - seen.granted) - RESERVE * limit;

export async function lookAtLimit(
  engine: Limit & { clock: Clock; forecast?: () => Promise<Forecast>; granted: () => number },
  now: number,
): Promise<LimitSeen> {
  const { clock, limit, windowMs } = engine;
  const [askedAt, granted] = [clock.now(), engine.granted()];
  const forecast = (await engine.forecast?.()) ?? wholeLimit(limit, windowMs);
  // As old as its answer: if it took longer than a look holds, the next would be taken at once.
  return { forecast, at: now + clock.now() - askedAt, granted };
}
