/** Stands for the resource of a trait of the source as a whole. */
export const WHOLE_SOURCE = '(source)';

/** What can be observed of a source as a whole, by the names and values that `sluice.traits` stores. */
export interface SourceTraits {
  /** How many requests it served at once when it had refused more; `as set` once it served as many as SOURCE_CONCURRENCY again. */
  'requests at once': `${number}` | 'as set';
}

type StoredTrait = { readonly resource: string; readonly trait: string; readonly value: string };

/** The requests that the source serves at once; undefined while nothing shows that they are fewer than configured. */
export function requestsAtOnce(traits: readonly StoredTrait[]): number | undefined {
  const name: keyof SourceTraits = 'requests at once';
  const stored = traits.find(({ resource, trait }) => resource === WHOLE_SOURCE && trait === name)?.value;
  const count = Number(stored);
  return Number.isInteger(count) && count > 0 ? count : undefined;
}

/** The trait after the number of requests in flight changed. */
export function requestsAtOnceTrait(allowed: number, most: number) {
  const value: SourceTraits['requests at once'] = allowed < most ? `${allowed}` : 'as set';
  const evidence =
    allowed < most
      ? `refused more requests at once although its limit was not used up; SOURCE_CONCURRENCY is ${most}`
      : `served ${most} requests at once, as SOURCE_CONCURRENCY says`;
  return { resource: WHOLE_SOURCE, trait: 'requests at once' satisfies keyof SourceTraits, value, evidence };
}
