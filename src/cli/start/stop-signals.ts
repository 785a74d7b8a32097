import { isKind } from '../../errors.ts';
import type { Session } from '../session/session.ts';

export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise(resolve => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

/** Aborts at the second signal, or at the end of the drain period after the first. */
export function stopAfterDraining({ settings, clock, signal, draining }: Session): AbortSignal {
  const stopping = new AbortController();
  void aborted(draining)
    .then(() => clock.sleep(settings.drainMs, signal))
    .catch(() => undefined)
    .then(() => stopping.abort(draining.reason));
  return stopping.signal;
}

/** The result of `work`, or null if `signal` stopped it. */
export async function unlessStopped<T>(signal: AbortSignal, work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (signal.aborted && isKind(error, 'stopped')) return null;
    throw error;
  }
}
