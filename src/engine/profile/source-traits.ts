import { SECOND } from '../../clock.ts';

/** Stands for the resource of a trait of the source as a whole. */
export const WHOLE_SOURCE = '(source)';

/** What can be observed of a source as a whole, by the names and values that `sluice.traits` stores. */
export interface SourceTraits {
  /** How many requests it served at once when it had refused more; `as set` once it served as many as SOURCE_CONCURRENCY again. */
  'requests at once': `${number}` | 'as set';
  /** Its limit and the shorter window over which it counts; `as set` once that was contradicted. */
  'request limit': `${number} in ${number} s` | 'as set';
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

/** The trait after the server was seen to count its limit over a shorter window, or that was contradicted. */
export function serverWindowTrait(found: { readonly limit: number; readonly windowMs: number } | null) {
  const value: SourceTraits['request limit'] = found ? `${found.limit} in ${found.windowMs / SECOND} s` : 'as set';
  const evidence = found
    ? 'its remaining requests were replenished again and again, sooner than SOURCE_RATE_WINDOW_SECONDS'
    : 'refused a request, or announced a later reset, while its limit was counted over a shorter window';
  return { resource: WHOLE_SOURCE, trait: 'request limit' satisfies keyof SourceTraits, value, evidence };
}
