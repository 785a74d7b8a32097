import { createHash, timingSafeEqual } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { getConnInfo } from '@hono/node-server/conninfo';
import type { Context } from 'hono';
import { type Clock, MINUTE, SECOND } from '../../clock.ts';
import type { Log } from '../../log.ts';

export const addressOf = (c: Context) => getConnInfo(c).remote.address ?? '';

export const tooManyTokens = (waitSeconds: number): string => `Too many wrong tokens. Wait ${waitSeconds} seconds.`;

/** Compares in constant time, whatever the lengths. */
export function isSameSecret(given: string, secret: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(secret));
}

const WINDOW_MS = MINUTE;
const MOST_BY_ADDRESS = 10;
const MOST_IN_ALL = 100;
const MOST_KNOWN = 1000;

/**
 * Counts wrong tokens, in this process. Within a minute, 10 from one address and 100 from all are looked at. Every place where a token can be
 * tried shares one, so that no place allows more tries than another.
 */
export interface AttemptLimit {
  /** Seconds until a token from this address is looked at again; 0: now. */
  readonly waitSeconds: (address: string) => number;
  /** An address that sent the right token is exempt from the limit for all, so that attacks from elsewhere do not lock it out. */
  readonly count: (address: string, isRight: boolean) => void;
}

export function createAttemptLimit({ clock, log }: { clock: Clock; log: Pick<Log, 'warn'> }): AttemptLimit {
  // At most the failures that were looked at, so never many.
  let failures: { readonly from: string; readonly at: number }[] = [];
  const known = new Set<string>();

  const waitSeconds = (address: string) => {
    const from = networkOf(address);
    const now = clock.now();
    // The clock may have been put back.
    failures = failures.filter(({ at }) => at <= now && at > now - WINDOW_MS);
    const waitOf = (counted: typeof failures, most: number) =>
      Math.ceil(((counted.at(-most)?.at ?? now - WINDOW_MS) + WINDOW_MS - now) / SECOND);
    const own = failures.filter(each => each.from === from);
    return Math.max(waitOf(own, MOST_BY_ADDRESS), known.has(from) ? 0 : waitOf(failures, MOST_IN_ALL));
  };
  return {
    waitSeconds,
    count(address, isRight) {
      const from = networkOf(address);
      if (!isRight) {
        failures.push({ from, at: clock.now() });
        if (waitSeconds(address) > 0)
          log.warn({ address }, 'too many wrong tokens; no more are looked at for up to a minute');
        return;
      }
      known.delete(from);
      known.add(from);
      const [longestUnused] = known;
      if (known.size > MOST_KNOWN && longestUnused !== undefined) known.delete(longestUnused);
    },
  };
}

/** An IPv4 address, or the /64 of an IPv6 address, which one machine has to itself. */
function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  if (mapped?.[1]) return mapped[1];
  if (!isIPv6(address)) return address;
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail ? tail.split(':') : [];
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length;
  return [...before, ...Array<string>(zeros).fill('0'), ...after].slice(0, 4).join(':');
}
