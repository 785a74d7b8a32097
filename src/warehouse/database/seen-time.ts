import { SluiceError } from '../../errors.ts';

/**
 * What a reader of a source has seen of the clock of the database. Once that was put back, what it reads seems older than what it has stored:
 * an older read never replaces a newer one, and a slice would be proven without what it showed.
 */
export interface SeenTime {
  /** Forgets what was seen before. */
  restart(now: number): void;
  /** Call it before the database is asked, and the result with the time of its answer (epoch ms): others may be answered in between. */
  asking(): (now: number) => void;
  readonly wasPutBack: boolean;
  /** Throws kind `stale` if the clock was put back. */
  check(): void;
}

export function createSeenTime(): SeenTime {
  let latest = Number.NEGATIVE_INFINITY;
  let wasPutBack = false;
  // Texts of Postgres are read to the millisecond.
  const isBefore = (now: number, other: number) => Math.floor(now) < Math.floor(other);
  return {
    restart(now) {
      latest = now;
      wasPutBack = false;
    },
    asking() {
      const before = latest;
      return now => {
        wasPutBack ||= isBefore(now, before);
        latest = Math.max(latest, now);
      };
    },
    get wasPutBack() {
      return wasPutBack;
    },
    check() {
      if (wasPutBack)
        throw new SluiceError('stale', 'The clock of the database was put back; nothing more was written.', {
          next: 'Nothing to do: the reading begins again from the last commit.',
        });
    },
  };
}
