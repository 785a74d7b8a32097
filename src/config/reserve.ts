import { HOUR } from '../clock.ts';

/** What is left to other programs with the key, for each hour of the day: requests an hour, or a percentage of the limit. */
type Reserve = readonly Amount[];

type Amount = { readonly requests: number } | { readonly percent: number };

const NOTHING: Amount = { requests: 0 };
const HOURS_OF_DAY = 24;

/** What `parseReserve` accepts, after "expected". */
export const RESERVE_FORM =
  'requests an hour such as 300, a percentage such as 30%, or both by hours of the day: 8-18:300,10%';

/** `300`, `30%`, or by hours, which others follow: `8-18:300,10%`. Null for a text that is none of these. */
export function parseReserve(text: string): Reserve | null {
  const hours: (Amount | null)[] = Array.from({ length: HOURS_OF_DAY }, () => null);
  let rest: Amount | null = null;
  for (const part of text.split(',')) {
    const [, from, to, number, percent] = /^\s*(?:(\d{1,2})-(\d{1,2}):)?(\d{1,7})(%)?\s*$/.exec(part) ?? [];
    if (number === undefined || (percent && Number(number) > 99)) return null;
    const amount: Amount = percent ? { percent: Number(number) } : { requests: Number(number) };
    if (from === undefined || to === undefined) {
      if (rest !== null) return null;
      rest = amount;
      continue;
    }
    const [first, end] = [Number(from), Number(to)];
    if (first >= HOURS_OF_DAY || end > HOURS_OF_DAY || first === end) return null;
    const length = (end - first + HOURS_OF_DAY) % HOURS_OF_DAY || HOURS_OF_DAY;
    for (let passed = 0; passed < length; passed++) {
      const hour = (first + passed) % HOURS_OF_DAY;
      if (hours[hour] !== null) return null;
      hours[hour] = amount;
    }
  }
  return hours.map(amount => amount ?? rest ?? NOTHING);
}

/** What a reserve comes to under a limit, in requests per window. */
export interface Reserved {
  /** At the moment of the day that leaves the fewest, and the most, to others. */
  readonly least: number;
  readonly most: number;
  /**
   * At a moment (epoch ms): the most of the hours in which what is sent now may count, until one window after its answer.
   */
  readonly at: (moment: number) => number;
}

/** Why Sluice could not work beside a reserve; null if it can. */
export const whyTooMuch = ({ most }: Pick<Reserved, 'most'>, limit: number): string | null =>
  most < limit
    ? null
    : `leaves ${most} requests per window to other programs, and the limit is ${limit}: Sluice could send none`;

/** `text`: a reserve that `parseReserve` accepts; undefined: nothing is left to others. */
export function reservedOf(
  text: string | undefined,
  of: { limit: number; windowMs: number; timeoutMs: number; timeZone: string },
): Reserved {
  const { limit, windowMs, timeoutMs, timeZone } = of;
  const hours = (parseReserve(text ?? '0') ?? [NOTHING]).map(amount =>
    Math.ceil('percent' in amount ? (limit * amount.percent) / 100 : (amount.requests * windowMs) / HOUR),
  );
  const most = Math.max(...hours);
  if (hours.every(each => each === most)) return { least: most, most, at: () => most };
  const countsMs = windowMs + timeoutMs;
  const format = new Intl.DateTimeFormat('en', { timeZone, hour: '2-digit', hourCycle: 'h23' });
  const ahead = [...Array(Math.ceil(countsMs / HOUR)).keys()].map(hour => hour * HOUR).concat(countsMs);
  const reach = Math.min(Math.ceil(countsMs / HOUR), HOURS_OF_DAY - 1);
  const leastAt = (hour: number) =>
    Math.max(...[...Array(reach + 1).keys()].map(more => hours[(hour + more) % HOURS_OF_DAY] ?? most));
  return {
    least: Math.min(...hours.map((_, hour) => leastAt(hour))),
    most,
    at: moment => Math.max(...ahead.map(ms => hours[Number(format.format(moment + ms))] ?? most)),
  };
}
