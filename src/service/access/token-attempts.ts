import { getConnInfo } from '@hono/node-server/conninfo';
import type { Context } from 'hono';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { createAttemptLimit } from './attempt-limit.ts';

/** Every place where a token can be tried shares one, so that no place allows more tries than another. */
export interface TokenAttempts {
  /** Seconds until a token from the address of this request is looked at again; 0: now. */
  readonly waitSeconds: (c: Context) => number;
  readonly count: (c: Context, isRight: boolean) => void;
}

export function createTokenAttempts({ clock, log }: { clock: Clock; log: Log }): TokenAttempts {
  const limit = createAttemptLimit(clock);
  return {
    waitSeconds: c => limit.waitSeconds(addressOf(c)),
    count(c, isRight) {
      const address = addressOf(c);
      if (isRight) limit.countSuccess(address);
      else if (limit.countFailure(address))
        log.warn({ address }, 'too many wrong tokens; no more are looked at for up to a minute');
    },
  };
}

const addressOf = (c: Context) => getConnInfo(c).remote.address ?? '';
