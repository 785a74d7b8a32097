import type { OpenSource } from './source-settings.ts';

/** The sources that are one installation under several names: they have the same address and key. One sentence for each. */
export function describeShared(sources: readonly OpenSource[]): string[] {
  const groups = new Map<string, string[]>();
  for (const { name, settings } of sources) {
    const id = JSON.stringify([new URL(settings.url).href.replace(/\/+$/, ''), settings.apiKey]);
    groups.set(id, [...(groups.get(id) ?? []), name]);
  }
  return [...groups.values()]
    .filter(names => names.length > 1)
    .map(
      names =>
        `${names.slice(0, -1).join(', ')} and ${names.at(-1)} have the same address and key: each reads the same data, and they share one request limit`,
    );
}

/** What to do about them. */
export const SHARED_NEXT = 'If this is not intended, correct url or api_key_from in the sources file.';
