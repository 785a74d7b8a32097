import { SECOND } from '../../../../src/clock.ts';
import type { Requester } from '../../requests/requester.ts';
import type { Answer, RequestOptions } from '../../requests/send-request.ts';
import { saysGone } from './deleted-customer.ts';

const REPEAT_AFTER_MS = 21 * SECOND;
const MAX_REPEATS = 3;
/** How long an answer may lag behind: the default of SOURCE_LAG_SECONDS, and a little more. */
export const MOST_STALE_MS = MAX_REPEATS * REPEAT_AFTER_MS;

/** What reading a record after a write returned. */
export interface WriteShown {
  /** The last answer. */
  readonly answer: Answer;
  /** The age of the write when an answer showed it, 0 if the first read did; `unreadable` if the last answer is an error. */
  readonly lagMs: number | 'never' | 'unreadable';
}

/** The requests of the write checks. Once a read has lacked a write, each read waits until no answer can lack the latest one. */
export interface SettledRequests {
  /** Sends a request that may change something. */
  write(path: string, options: RequestOptions): Promise<Answer>;
  /** Sends a read that has to show all writes. */
  read(path: string, options: RequestOptions): Promise<Answer>;
  /** Reads a record until `shows` finds the latest write in the answer, for MOST_STALE_MS at most. */
  readUntil(path: string, shows: (answer: Answer) => boolean): Promise<WriteShown>;
}

/** Starts with a source whose answers are not known to lag behind. */
export function createSettledRequests(requester: Requester): SettledRequests {
  let isStale = false;
  let writtenAt = Number.NEGATIVE_INFINITY;

  async function read(path: string, options: RequestOptions): Promise<Answer> {
    const waitMs = writtenAt + MOST_STALE_MS - requester.now();
    if (isStale && waitMs > 0) await requester.sleep(waitMs);
    return requester.request(path, options);
  }

  return {
    async write(path, options) {
      try {
        return await requester.request(path, options);
      } finally {
        // A request without an answer may have been carried out.
        writtenAt = requester.now();
      }
    },
    read,
    async readUntil(path, shows) {
      const repeats = isStale ? 0 : MAX_REPEATS;
      let answer = await read(path, { expect: 'record' });
      for (let repeat = 0; ; repeat++) {
        if (!isReadable(answer)) return { answer, lagMs: 'unreadable' };
        if (shows(answer)) return { answer, lagMs: repeat === 0 ? 0 : requester.now() - writtenAt };
        isStale = true;
        if (repeat === repeats) return { answer, lagMs: 'never' };
        await requester.sleep(REPEAT_AFTER_MS);
        answer = await requester.request(path, { expect: 'record' });
      }
    },
  };
}

/** Whether the answer says what the source knows of the record. */
const isReadable = (answer: Answer) => answer.verdict.kind === 'success' || saysGone(answer);
