import { createRandom, mix, type Random } from '../../../sandbox/data/random.ts';
import { variantPoints } from '../../../sandbox/variants/variant-points.ts';
import type { Variants } from '../../../sandbox/variants/variants.ts';

/** Points that no reading exercises or whose rows are not stored as shown, and points that only readings of the smaller lists exercise. */
const ELSEWHERE = new Set(['auth-error', 'webhooks', 'batch', 'secrets', 'creates']);
const OF_OTHERS = new Set(['other-ids', 'report', 'other-lists']);

/** Counts that no list has, and those that a client must not believe. */
const NO_COUNTS: readonly Partial<Variants>[] = [
  ...(['huge', 'overflown', 'negative', 'fraction'] as const).map(values => ({ 'count-values': values })),
  ...(['grouped', 'none'] as const).map(form => ({ 'total-records': form })),
];

/** Counts that are always too high. */
const WRONG_COUNTS: readonly Partial<Variants>[] = [
  { totals: 'doubled' },
  { totals: 'with-deleted' },
  { pages: 'thinned' },
  { estimates: 'yes' },
];

const UNCOUNTED: readonly Partial<Variants>[] = [
  ...NO_COUNTS,
  ...(['no-meta', 'capped', 'ignored'] as const).map(paging => ({ paging })),
];

/**
 * Combinations under which no client could end equal, so the simulation does not demand it. `told`: wherever warehouse and source
 * differ, the runs or the coverage must report that the outcome is unknown.
 */
export const EXCLUDED: readonly {
  readonly when: Partial<Variants>;
  readonly also?: (variants: Partial<Variants>) => boolean;
  readonly why: string;
  readonly told: boolean;
}[] = [
  {
    when: { visible: 'none', 'no-rows': '404' },
    why: 'every list answers 404, as behind a wrong address',
    told: true,
  },
  {
    when: { paging: 'no-meta', undated: 'yes' },
    why: 'nothing shows that windows lack rows, unless the newest end shows a row without a date',
    told: false,
  },
  ...NO_COUNTS.flatMap(noCount => [
    {
      when: { ...noCount, undated: 'yes' } as const,
      why: 'the same as without a count: nothing shows that windows lack rows',
      told: false,
    },
    {
      when: { ...noCount, order: 'date-desc-loose' } as const,
      why: 'rows without dates change their order at every request and can be missed between pages',
      told: true,
    },
  ]),
  ...WRONG_COUNTS.map(wrong => ({
    when: { ...wrong, undated: 'yes' } as const,
    why: 'a count that is always wrong does not show that windows lack rows',
    told: false,
  })),
  ...UNCOUNTED.map(uncounted => ({
    when: { pages: 'thinned', ...uncounted } as const,
    why: 'where nothing is counted, a page without rows is the end of the list',
    told: false,
  })),
  {
    when: { pages: 'thinned', 'date-filter': 'pair-only' },
    why: 'a first page without rows does not show that one date alone is ignored, so that the time before is cut year by year',
    told: true,
  },
  {
    when: { pages: 'thinned', order: 'date-desc-loose' },
    why: 'rows without dates change their order at every request and can be missed between pages',
    told: true,
  },
  {
    when: { pages: 'thinned' },
    also: isCut,
    why: 'an answer that was cut off looks shorter than it is',
    told: false,
  },
  ...(['ignored', '20-reject'] as const).map(most => ({
    when: { 'count-age': 'minute', 'limit-max': most } as const,
    why: 'pages that cannot overlap meet only by a count of the same moment',
    told: false,
  })),
  {
    when: { undated: 'yes' },
    also: isCut,
    why: 'rows without a date lie in no window, and the list is truncated',
    told: false,
  },
  {
    when: { 'most-rows-of': 'counted' },
    also: isCut,
    why: 'the count itself leaves the other rows out',
    told: false,
  },
  ...(['capped', 'ignored'] as const).flatMap(paging => [
    {
      when: { paging, 'date-filter': 'ignored' } as const,
      why: 'the source only ever shows the first part of the list',
      told: true,
    },
    {
      when: { paging, undated: 'yes' } as const,
      why: 'rows without a date lie in no window, and the list is truncated',
      told: false,
    },
  ]),
  ...[{ paging: 'no-meta' } as const, ...NO_COUNTS, ...WRONG_COUNTS].map(unbelieved => ({
    when: { 'behind-end': 'refused', ...unbelieved } as const,
    why: 'where no count is believed, a refused page behind a full one need not be the end',
    told: true,
  })),
  ...(['ignored', '20-reject'] as const).map(most => ({
    when: { paging: 'ignored', 'limit-max': most } as const,
    why: 'a day may have more rows than the 20 that the source shows of it',
    told: true,
  })),
  {
    when: { stale: 'cache', order: 'date-desc-loose' },
    why: 'each cached page is of another order, so that rows are missing between them until the cache forgets them',
    told: true,
  },
  {
    when: { paging: 'no-meta', order: 'date-desc-loose' },
    why: 'rows without dates change their order at every request and can be missed between pages',
    told: true,
  },
  {
    when: { totals: 'unfiltered', order: 'date-desc-loose' },
    why: 'the same, since the count of a window or a value is that of the whole list',
    told: true,
  },
  ...(['ignored', '20-reject'] as const).map(most => ({
    when: { order: 'date-desc-loose', 'transaction-ids': 'no', 'limit-max': most } as const,
    why: 'rows without ids can be missed between the pages of one day, unnoticed',
    told: true,
  })),
  ...(['ignored', '20-reject'] as const).map(most => ({
    when: { order: 'date-desc-loose', 'other-ids': 'no', 'limit-max': most } as const,
    why: 'rows without ids or dates can be missed between the pages of the list, unnoticed',
    told: true,
  })),
  {
    when: { order: 'date-desc-loose', 'transaction-ids': 'no', 'date-filter': 'ignored' },
    why: 'rows without ids can be missed between the pages of the list, unnoticed',
    told: true,
  },
  ...(['yes', 'two'] as const).map(nulls => ({
    when: { order: 'date-desc-loose', 'null-rows': nulls } as const,
    why: 'the same: an unreadable record has no id, and may be shown on two pages',
    told: true,
  })),
  {
    when: { order: 'date-desc-loose', 'transaction-ids': 'no', undated: 'yes' },
    why: 'rows without ids can be missed between the pages of the list, unnoticed',
    told: true,
  },
];

/** Rows without ids are identified by their content: an edit deletes one row and adds another. */
export function comesWithoutIds(list: string, variants: Partial<Variants>): boolean {
  if (list === 'transactions') return variants['transaction-ids'] === 'no';
  return variants['other-ids'] === 'no' && ['products', 'quotes', 'tickets', 'users'].includes(list);
}

/** The source shows at most so much of a list and does not say so. */
export function isCut({ 'most-rows': rows = 'all', 'most-weight': weight = 'none' }: Partial<Variants>): boolean {
  return rows !== 'all' || weight !== 'none';
}

/** Whether Sluice only has to report a difference between warehouse and source. */
export const mustTell = (variants: Partial<Variants>): boolean => excludes(variants).some(({ told }) => told);

/** Whether a client can notice every row that the source hides. */
export const isHonest = (variants: Partial<Variants>): boolean => excludes(variants).length === 0;

/** Drafts that the date filter leaves out lie in no window, as rows without a date do. */
const excludes = ({ drafts, ...others }: Partial<Variants>) => {
  const variants: Partial<Variants> = drafts === 'hidden' ? { ...others, undated: 'yes' } : others;
  return EXCLUDED.filter(({ when, also }) => holdsIn(variants, when) && (also?.(variants) ?? true));
};

const holdsIn = (variants: Partial<Variants>, when: Partial<Variants>): boolean =>
  Object.entries(when).every(([name, value]) => variants[name as keyof Variants] === value);

/**
 * Points that were added later. Each is chosen from a stream of its own, so that the rest of an older seed's plan stays as it was, and
 * regressions, which name their variants, stay without them.
 */
const ADDED: ReadonlySet<string> = new Set([
  'no-rows',
  'forbidden',
  'totals',
  'date-bounds',
  'deleted-customer',
  'null-rows',
  'concurrency',
  'charset',
  'lists',
  'stale',
  'secrets',
  'most-rows',
  'most-rows-of',
  'customer-address',
  'new-ids',
  'creates',
  'rate-length',
  'ids',
  'count-values',
  'backdated',
  'customer-rows',
  'deleted-address',
  'list-names',
  'empty-form',
  'total-records',
  'drafts',
  'limit-values',
  'pages',
  'behind-end',
  'count-age',
  'long-pages',
]);

/** Points that play only where they are named, or by themselves: in the mix they would change the plans of older seeds and pairs. */
const BY_ITSELF: ReadonlySet<string> = new Set([
  'failing-list',
  'dates',
  'date-span',
  'date-times',
  'most-weight',
  'estimates',
]);

function chooseAdded(seed: number): Partial<Variants> {
  const random = createRandom(mix(seed, 0xadd));
  const chosen: Record<string, string> = {};
  for (const name of ADDED) {
    if (ELSEWHERE.has(name)) continue;
    const { values } = variantPoints[name as keyof typeof variantPoints];
    if (random.chance(0.15)) chosen[name] = random.pick(Object.keys(values));
  }
  // Any length may be a cap.
  const length = String(createRandom(mix(seed, 0xca9)).int(10, 300));
  if ((chosen['most-rows'] ?? 'all') !== 'all') chosen['most-rows'] = length;
  // No client could notice what its own count leaves out.
  if (chosen['most-rows-of'] === 'counted') delete chosen['most-rows-of'];
  // The latest first, so that the plan of an older seed stays.
  return [...ADDED].reverse().reduce<Partial<Variants>>((kept, name) => {
    const { [name as keyof Variants]: _, ...others } = kept;
    return excludes(others).length < excludes(kept).length ? others : kept;
  }, chosen);
}

/**
 * Picks random values for a third of the points and leaves the others as expected. `fixed` overrides both; if it names any, no point of
 * `ADDED` varies but those.
 */
export function chooseVariants(
  random: Random,
  fixed: Partial<Variants>,
  { others, seed }: { others: boolean; seed: number },
): Partial<Variants> {
  const added = Object.keys(fixed).length === 0 ? chooseAdded(seed) : {};
  for (;;) {
    const chosen: Record<string, string> = { ...added };
    for (const [name, { values }] of Object.entries(variantPoints)) {
      if (ADDED.has(name) || BY_ITSELF.has(name)) continue;
      const odd = random.chance(0.3);
      const value = random.pick(Object.keys(values));
      if (odd && !ELSEWHERE.has(name) && (others || !OF_OTHERS.has(name))) chosen[name] = value;
    }
    // With another tool on the key the request limit cannot be checked, so most seeds go without.
    if (chosen['shared-key'] === 'yes' && random.chance(0.7)) delete chosen['shared-key'];
    const variants = { ...(chosen as Partial<Variants>), ...fixed };
    if (excludes(variants).every(each => excludes(fixed).includes(each))) return variants;
  }
}

/**
 * The same with lengths that nobody expects: rows of a page that the source shows at most, or always, and of a list that is cut off. What
 * the others exclude for pages of 20 rows holds for up to 40.
 */
export function withOddLengths(seed: number, variants: Partial<Variants>): Partial<Variants> {
  const random = createRandom(mix(seed, 0x1e46));
  const small = random.int(11, 40);
  const usual = random.int(41, 160);
  const large = random.int(161, 1100);
  const most: Readonly<Record<Variants['limit-max'], string>> = {
    ignored: `ignored-${small}`,
    '20-reject': `${small}-reject`,
    '100': `${usual}`,
    '100-reject': `${usual}-reject`,
    '1000': `${large}`,
    honoured: 'honoured',
  };
  const lengths = { 'limit-max': most[variants['limit-max'] ?? '100'], cap: `${random.int(60, 600)}` };
  return { ...variants, ...(lengths as Partial<Variants>) };
}

/** Every value of every point by itself, except the expected ones. */
export function alone(): Partial<Variants>[] {
  return Object.entries(variantPoints).flatMap(([name, { values, likely }]) =>
    ELSEWHERE.has(name)
      ? []
      : Object.keys(values)
          .filter(value => value !== likely)
          .map(value => ({ [name]: value })),
  );
}

/** Two random values of different points. Skips combinations that no client could handle or report. */
export function pairOf(random: Random): Partial<Variants> {
  const all = alone().filter(variants => !Object.keys(variants).some(name => BY_ITSELF.has(name)));
  for (;;) {
    const pair = { ...random.pick(all), ...random.pick(all) };
    if (Object.keys(pair).length === 2 && excludes(pair).every(({ told }) => told)) return pair;
  }
}
