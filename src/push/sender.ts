import type { Budget } from '../budget/budget.ts';
import { stopped } from '../clock.ts';
import { isKind, type SluiceError } from '../errors.ts';
import type { OpenClient } from '../source/client.ts';
import { notFound } from '../source/requests/outcome-errors.ts';

/**
 * How one attempt to create something ended. `unsent`: nothing arrived at the source. `unknown`: it may have been carried out.
 * `refused` comes with the error that tells why.
 */
export type Sent =
  | { readonly kind: 'answered'; readonly body: Record<string, unknown> }
  | { readonly kind: 'refused'; readonly error: SluiceError }
  | { readonly kind: 'unknown'; readonly error: SluiceError }
  | { readonly kind: 'unsent'; readonly error: SluiceError };

export interface Sender {
  /** `beforeSending` is awaited when the request may go, right before it does; where it throws, nothing is sent. */
  send(
    request: { path: string; body: unknown; purpose: string },
    beforeSending: () => Promise<void>,
    signal: AbortSignal,
  ): Promise<Sent>;
  /** Takes the key out of what an answer says. */
  hide(text: string): string;
  /** Requests that reached the source so far. */
  readonly requests: number;
  close(): Promise<void>;
}

/** One request at a time, each of which is either stopped before it leaves, or awaited to its end. Other errors are thrown. */
export function createSender(budget: Budget, open: (budget: Budget) => OpenClient): Sender {
  let requests = 0;
  let before: () => Promise<void> = async () => undefined;
  let stop: () => void = () => undefined;
  /** Aborted for a request that must not leave any more. */
  let leaving = new AbortController();
  /** It is being written down that it goes out, or its answer is waited for: a stop comes too late. */
  let underWay = false;
  const client = open({
    async take(lane, want) {
      const taken = await budget.take(lane, Math.min(want, 1));
      if (taken.grants.length === 0) return taken;
      if (leaving.signal.aborted) {
        await budget.release(taken.grants);
        return { grants: [], waitMs: 1 };
      }
      underWay = true;
      try {
        await before();
      } catch (error) {
        underWay = false;
        await budget.release(taken.grants).catch(() => undefined);
        throw error;
      }
      return taken;
    },
    async settle(grant, settlement) {
      underWay = false;
      requests++;
      await budget.settle(grant, settlement);
      // A 429 would be repeated.
      stop();
    },
    async release(grants) {
      underWay = false;
      await budget.release(grants);
      stop();
    },
  });

  return {
    get requests() {
      return requests;
    },
    async send({ path, body, purpose }, beforeSending, signal) {
      if (signal.aborted) throw stopped(signal);
      before = beforeSending;
      underWay = false;
      leaving = new AbortController();
      stop = () => {
        if (signal.aborted && !underWay) leaving.abort(signal.reason);
      };
      signal.addEventListener('abort', stop);
      try {
        const context = { lane: 'live', purpose, signal: leaving.signal } as const;
        const answer = await client.request({ method: 'POST', path, body }, context);
        if (answer.kind === 'success') return { kind: 'answered', body: answer.body };
        return { kind: 'refused', error: notFound(path) };
      } catch (error) {
        if (!isKind(error, 'refused', 'unavailable', 'unauthorized', 'stopped', 'quota')) throw error;
        if (error.outcomeUnknown) return { kind: 'unknown', error };
        return { kind: error.kind === 'refused' ? 'refused' : 'unsent', error };
      } finally {
        signal.removeEventListener('abort', stop);
      }
    },
    hide: text => client.hide(text),
    close: () => client.close(),
  };
}
