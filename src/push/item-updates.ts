import type { PushItem, PushNews } from '../warehouse/pushes/pushes.ts';
import { parseBatch, parseCreatedId, parseRefusedEntries } from './parse-response.ts';
import { isBatchUnsupported } from './send-policy.ts';
import type { SendResult } from './sender.ts';

/** The new state of the one line of a request. */
export function updatesOfSingle(result: SendResult, items: readonly PushItem[]): PushNews[] {
  return items.map(({ id }): PushNews => {
    if (result.kind === 'answered') return createdAs(id, parseCreatedId(result.body));
    if (result.kind === 'refused') return { id, state: 'refused', message: result.error.message, quiet: true };
    return { id, state: result.kind === 'unsent' ? 'planned' : 'unknown', message: result.error.message };
  });
}

/** The new states of the lines of a batch. `hide` removes the key from messages of the answer; errors do not hold it. */
export function updatesOfBatch(
  result: SendResult,
  items: readonly PushItem[],
  hide: (text: string) => string,
): PushNews[] {
  if (result.kind === 'answered') {
    const entries = parseBatch(result.body, items.length, hide);
    return items.map(({ id }, index): PushNews => {
      const entry = entries[index];
      if (entry?.kind === 'created') return createdAs(id, entry.sourceId);
      if (entry?.kind === 'refused') return { id, state: 'refused', message: entry.message, quiet: true };
      const message = 'The source answered the batch without reporting this entry.';
      return { id, state: 'unknown', message, quiet: false };
    });
  }
  const { message, fields } = result.error;
  if (result.kind !== 'refused' || isBatchUnsupported(result)) {
    const state = result.kind === 'unknown' ? 'unknown' : 'planned';
    return items.map(({ id }) => ({ id, state, message }));
  }
  const refused = parseRefusedEntries(fields, items.length);
  // It is not documented whether a refused batch creates its valid entries, so the others are looked up.
  return items.map(({ id }, index): PushNews => {
    const reason = refused.get(index);
    if (reason !== undefined || items.length === 1)
      return { id, state: 'refused', message: reason ?? message, quiet: true };
    return { id, state: 'unknown', message: `The batch was refused: ${message}`, quiet: true };
  });
}

/** A source that names no record, as with status 202, may create it after its answer. */
const createdAs = (id: string, sourceId: string | null): PushNews => ({
  id,
  state: 'created',
  sourceId,
  quiet: sourceId !== null,
});
