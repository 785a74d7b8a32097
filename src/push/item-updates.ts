import type { PushItem, PushNews } from '../warehouse/pushes/pushes.ts';
import { createdId, namedEntries, readBatch } from './parse-response.ts';
import { isNoBatch } from './send-policy.ts';
import type { Sent } from './sender.ts';

/** What the outcome of a request tells of its one line. */
export function singleNews(sent: Sent, items: readonly PushItem[]): PushNews[] {
  return items.map(({ id }): PushNews => {
    if (sent.kind === 'answered') return { id, state: 'created', sourceId: createdId(sent.body), quiet: true };
    if (sent.kind === 'refused') return { id, state: 'refused', message: sent.error.message, quiet: true };
    return { id, state: sent.kind === 'unsent' ? 'planned' : 'unknown', message: sent.error.message };
  });
}

/** What the outcome of a batch tells of each of its lines. `hide` takes the key out of what the answer says; errors come without it. */
export function batchNews(sent: Sent, items: readonly PushItem[], hide: (text: string) => string): PushNews[] {
  if (sent.kind === 'answered') {
    const told = readBatch(sent.body, items.length, hide);
    return items.map(({ id }, index): PushNews => {
      const each = told[index];
      if (each?.kind === 'created') return { id, state: 'created', sourceId: each.sourceId, quiet: true };
      if (each?.kind === 'refused') return { id, state: 'refused', message: each.message, quiet: true };
      const message = 'The source answered its batch without saying what became of it.';
      return { id, state: 'unknown', message, quiet: true };
    });
  }
  const { message, fields } = sent.error;
  if (sent.kind !== 'refused' || isNoBatch(sent)) {
    const state = sent.kind === 'unknown' ? 'unknown' : 'planned';
    return items.map(({ id }) => ({ id, state, message }));
  }
  const named = namedEntries(fields, items.length);
  // Whether a refused batch has created its good entries is not documented, so the others are looked for.
  return items.map(({ id }, index): PushNews => {
    const wrong = named.get(index);
    if (wrong !== undefined || items.length === 1)
      return { id, state: 'refused', message: wrong ?? message, quiet: true };
    return { id, state: 'unknown', message: `Its batch was refused: ${message}`, quiet: true };
  });
}
