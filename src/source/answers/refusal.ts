import { SECOND } from '../../clock.ts';
import type { RateHeaders } from './rate-headers.ts';
import { beginning } from './shorten.ts';

/** Why a source refuses a request for now: its limit is used up, or it serves too many requests at once. */
export type Refusal = 'quota' | 'crowded';

/** A limit that is used up takes longer to have room again, unless it is counted by the second. */
const SHORT_MS = 10 * SECOND;
/** Below this share the limit may be used up at the source: it may be lower than configured, or another program may use the key. */
const AMPLE = 0.5;

/**
 * Why a request was refused. The server's count of requests left decides; without it its words; without those our own count (`unused`:
 * the share of the limit that is left), if the source asks for a short wait only. In doubt the limit, because waiting longer is safe.
 */
export function refusalOf(
  { remaining, retryAfterMs }: Pick<RateHeaders, 'remaining' | 'retryAfterMs'>,
  text: string,
  unused: number,
): Refusal {
  if (remaining !== undefined) return remaining > 0 ? 'crowded' : 'quota';
  if (namesConcurrency(text)) return 'crowded';
  const asksForLittle = retryAfterMs !== undefined && retryAfterMs <= SHORT_MS;
  return asksForLittle && unused >= AMPLE ? 'crowded' : 'quota';
}

/** A message about requests at the same time, in whatever status it came. */
export function namesConcurrency(text: string): boolean {
  return CONCURRENCY.test(beginning(text));
}

const CONCURRENCY = new RegExp(
  [
    'too many (?:\\w{1,20} )?connections',
    '(?:max|maximum|limit)\\w{0,20}(?: number)?(?: of)?(?: \\w{1,20})? connections',
    'connection limit',
    '(?:concurren\\w{1,20}|simultaneous|parallel)(?: \\w{1,20}){0,2} (?:requests?|connections?|calls?|limit)',
    'concurrency',
    '(?:requests?|connections?|calls?) (?:only )?(?:at (?:once|a time|the same time)|in (?:parallel|flight)|concurrently|simultaneously)',
  ].join('|'),
  'i',
);
