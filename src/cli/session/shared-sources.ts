import { groupBy } from '../../engine/group-by.ts';
import { count } from '../../service/format.ts';
import type { OpenSource } from './source-settings.ts';

/** The sources that share a key, and those that also have one address, so that they are one installation under several names. One sentence for each. */
export function describeShared(sources: readonly OpenSource[]): string[] {
  const found: string[] = [];
  for (const sharing of groupBy(sources, ({ settings }) => settings.apiKey).values()) {
    if (sharing.length === 1) continue;
    // The ledger grants what the lowest limit in use allows.
    const limits = sharing.map(({ settings }) => settings.limit);
    const lowest = count(Math.min(...limits));
    const limit = new Set(limits).size > 1 ? `, the lowest of theirs: ${lowest}` : ` of ${lowest}`;
    const places = [...groupBy(sharing, ({ settings }) => new URL(settings.url).href.replace(/\/+$/, '')).values()];
    for (const same of places.filter(({ length }) => length > 1))
      found.push(
        `${namesOf(same)} have the same address and key: each reads the same data, and they share one request limit${limit}`,
      );
    if (places.length > 1)
      found.push(`${namesOf(sharing)} have the same key for different addresses: they share one request limit${limit}`);
  }
  return found;
}

function namesOf(sources: readonly OpenSource[]): string {
  const names = sources.map(({ name }) => name);
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

/** What to do about them. */
export const SHARED_NEXT = 'If this is not intended, correct url or api_key_from in the sources file.';
