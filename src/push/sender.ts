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
  | { readonly kind: 'refused' | 'unknown' | 'unsent'; readonly error: SluiceError };

export type Sender = ReturnType<typeof createSender>;

/** Sends one request at a time. A signal stops a request before it goes out; after that, its answer is awaited. Other errors are thrown. */
export function createSender(budget: Budget, open: (budget: Budget) => Client) {
  let requests = 0;
  const client = open({
    ...budget,
    async settle(grant, settlement) {
      requests++;
      await budget.settle(grant, settlement);
    },
  });
  return {
    /** Requests that have reached the source. */
    get requests(): number {
      return requests;
    },
    /** Awaits `beforeSending` when the request has a grant, right before it goes out; if that throws, nothing is sent. */
    async send(
      { path, body, purpose }: { path: string; body: unknown; purpose: string },
      beforeSending: () => Promise<void>,
      signal: AbortSignal,
    ): Promise<SendResult> {
      if (signal.aborted) throw stopped(signal);
      try {
        const context = { lane: 'live', purpose, signal, beforeSending } as const;
        const answer = await client.request({ method: 'POST', path, body }, context);
        if (answer.kind === 'success') return { kind: 'answered', body: answer.body };
        return { kind: 'refused', error: notFound(path) };
      } catch (error) {
        if (!isKind(error, 'refused', 'unavailable', 'unauthorized', 'stopped', 'quota')) throw error;
        if (error.outcomeUnknown) return { kind: 'unknown', error };
        return { kind: error.kind === 'refused' ? 'refused' : 'unsent', error };
      }
    },
    /** Removes the key from a text of an answer. */
    hide: (text: string): string => client.hide(text),
    close: (): Promise<void> => client.close(),
  };
}
