import type { Reader } from '../../read/fetch/fetch-page.ts';

/** Which readings answers are admitted for. */
export type Admissions = Readonly<Record<'live' | 'others', Reader['admit']>>;

/**
 * Admits answers, each from its request to its release: at most `2 * most` in all, so that some are requested while others are committed, and at
 * most `most` of them for readings below live, which hold theirs until their slices end.
 */
export function createAdmissions(most: number): Admissions {
  const admitted = { live: 0, others: 0 };
  const waiting: Record<'live' | 'others', (() => void)[]> = { live: [], others: [] };
  const isFree = (kind: 'live' | 'others') =>
    admitted.live + admitted.others < 2 * most && (kind === 'live' || admitted.others < most);

  function admitNext(): void {
    for (const kind of ['live', 'others'] as const)
      while (waiting[kind].length > 0 && isFree(kind)) {
        admitted[kind]++;
        waiting[kind].shift()?.();
      }
  }

  const admitFor =
    (kind: 'live' | 'others'): Reader['admit'] =>
    async ask => {
      await new Promise<void>(resolve => {
        waiting[kind].push(resolve);
        admitNext();
      });
      let isReleased = false;
      const release = () => {
        if (isReleased) return;
        isReleased = true;
        admitted[kind]--;
        admitNext();
      };
      try {
        return { value: await ask(), release };
      } catch (error) {
        release();
        throw error;
      }
    };
  return { live: admitFor('live'), others: admitFor('others') };
}
