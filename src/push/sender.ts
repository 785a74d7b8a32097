import type { Budget } from '../budget/budget.ts';
import { stopped } from '../clock.ts';
import { isKind, type SluiceError } from '../errors.ts';
import type { Client } from '../source/client.ts';
import { notFound } from '../source/requests/outcome-errors.ts';

/**
 * The result of one attempt to create something. `unsent`: nothing reached the source. `unknown`: it may have been carried out.
 * The error says why.
 */
export type SendResult =
  | { readonly kind: 'answered'; readonly body: Record<string, unknown> }
  | { readonly kind: 'refused'; readonly error: SluiceError }
  | { readonly kind: 'unknown'; readonly error: SluiceError }
  | { readonly kind: 'unsent'; readonly error: SluiceError };

export interface Sender {
  /** Awaits `beforeSending` when the request has a grant, right before it goes out; if that throws, nothing is sent. */
  send(
    request: { path: string; body: unknown; purpose: string },
    beforeSending: () => Promise<void>,
    signal: AbortSignal,
  ): Promise<SendResult>;
  /** Removes the key from a text of an answer. */
  hide(text: string): string;
  /** Requests that have reached the source. */
  readonly requests: number;
  close(): Promise<void>;
}

/** Sends one request at a time. A signal stops a request before it goes out; after that, its answer is awaited. Other errors are thrown. */
export function createSender(budget: Budget, open: (budget: Budget) => Client): Sender {
  const gate = createGate(budget);
  const client = open(gate.budget);
  return {
    get requests() {
      return gate.requests;
    },
    async send({ path, body, purpose }, beforeSending, signal) {
      if (signal.aborted) throw stopped(signal);
      const { cancelled, end } = gate.begin(beforeSending, signal);
      try {
        const answer = await client.request(
          { method: 'POST', path, body },
          { lane: 'live', purpose, signal: cancelled },
        );
        if (answer.kind === 'success') return { kind: 'answered', body: answer.body };
        return { kind: 'refused', error: notFound(path) };
      } catch (error) {
        if (!isKind(error, 'refused', 'unavailable', 'unauthorized', 'stopped', 'quota')) throw error;
        if (error.outcomeUnknown) return { kind: 'unknown', error };
        return { kind: error.kind === 'refused' ? 'refused' : 'unsent', error };
      } finally {
        end();
      }
    },
    hide: text => client.hide(text),
    close: () => client.close(),
  };
}

/** A budget that runs `beforeSending` between the grant and the request, and knows whether a stop still comes in time. */
function createGate(budget: Budget) {
  let requests = 0;
  let before: () => Promise<void> = async () => undefined;
  let cancelIfStopped: () => void = () => undefined;
  let cancelling = new AbortController();
  /** `beforeSending` runs, or the answer is awaited: a stop comes too late. */
  let goingOut = false;
  return {
    get requests() {
      return requests;
    },
    /** Begins a request. `cancelled` aborts when it must not go out any more. */
    begin(beforeSending: () => Promise<void>, signal: AbortSignal) {
      before = beforeSending;
      goingOut = false;
      const controller = new AbortController();
      cancelling = controller;
      const stop = () => {
        if (signal.aborted && !goingOut) controller.abort(signal.reason);
      };
      cancelIfStopped = stop;
      signal.addEventListener('abort', stop);
      return { cancelled: controller.signal, end: () => signal.removeEventListener('abort', stop) };
    },
    budget: {
      async take(lane, want, kept) {
        const taken = await budget.take(lane, Math.min(want, 1), kept);
        if (taken.grants.length === 0) return taken;
        if (cancelling.signal.aborted) {
          await budget.release(taken.grants);
          return { grants: [], waitMs: 1 };
        }
        goingOut = true;
        try {
          await before();
        } catch (error) {
          goingOut = false;
          await budget.release(taken.grants).catch(() => undefined);
          throw error;
        }
        return taken;
      },
      async settle(grant, settlement) {
        goingOut = false;
        requests++;
        await budget.settle(grant, settlement);
        // The client would repeat the request after a 429.
        cancelIfStopped();
      },
      async release(grants) {
        goingOut = false;
        await budget.release(grants);
        cancelIfStopped();
      },
    } satisfies Budget,
  };
}
