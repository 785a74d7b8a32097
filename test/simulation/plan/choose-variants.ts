import type { Random } from '../../../src/sandbox/data/random.ts';
import { variantPoints } from '../../../src/sandbox/variants/variant-points.ts';
import type { Variants } from '../../../src/sandbox/variants/variants.ts';

/** Points that no reading meets, and those that only a reading of the smaller lists does. */
const ELSEWHERE = new Set(['auth-error', 'webhooks', 'batch']);
const OF_OTHERS = new Set(['other-ids', 'report', 'other-lists']);

/**
 * What no client could end equal under, so that equality is not asked for. `told`: the runs or the coverage must say that they
 * do not know, wherever warehouse and source differ.
 */
export const EXCLUDED: readonly {
  readonly when: Partial<Variants>;
  readonly why: string;
  readonly told: boolean;
}[] = [
  {
    when: { none: 'absent' },
    why: 'an absent field leaves what is stored: a value that went away is not seen',
    told: false,
  },
  {
    when: { paging: 'no-meta', undated: 'yes' },
    why: 'nothing tells that windows lack rows unless the newest end shows one without a date',
    told: false,
  },
  ...(['capped', 'ignored'] as const).flatMap(paging => [
    {
      when: { paging, 'date-filter': 'ignored' } as const,
      why: 'only a first part of the list is ever shown',
      told: true,
    },
    {
      when: { paging, undated: 'yes' } as const,
      why: 'rows without a date lie in no window, and the list is cut short',
      told: false,
    },
  ]),
  ...(['ignored', '20-reject'] as const).map(most => ({
    when: { paging: 'ignored', 'limit-max': most } as const,
    why: 'a day may have more rows than the 20 that are ever shown of it',
    told: true,
  })),
  {
    when: { paging: 'no-meta', order: 'date-desc-loose' },
    why: 'rows without dates come in another order at every request, and slip between the pages of the list',
    told: true,
  },
  ...(['ignored', '20-reject'] as const).map(most => ({
    when: { order: 'date-desc-loose', 'transaction-ids': 'no', 'limit-max': most } as const,
    why: 'rows without ids slip between the pages of one day, and nothing tells which',
    told: true,
  })),
  ...(['ignored', '20-reject'] as const).map(most => ({
    when: { order: 'date-desc-loose', 'other-ids': 'no', 'limit-max': most } as const,
    why: 'rows without ids or dates slip between the pages of the list, and nothing tells which',
    told: true,
  })),
  {
    when: { order: 'date-desc-loose', 'transaction-ids': 'no', 'date-filter': 'ignored' },
    why: 'rows without ids slip between the pages of the list, and nothing tells which',
    told: true,
  },
  {
    when: { order: 'date-desc-loose', 'transaction-ids': 'no', undated: 'yes' },
    why: 'rows without ids slip between the pages of the list, and nothing tells which',
    told: true,
  },
];

/** Whether, where they differ, it is enough that Sluice says so. */
export const mustTell = (variants: Partial<Variants>): boolean => excludes(variants).some(({ told }) => told);

/** Whether what is hidden can be noticed. */
export const isHonest = (variants: Partial<Variants>): boolean => excludes(variants).length === 0;

const excludes = (variants: Partial<Variants>) => EXCLUDED.filter(({ when }) => holdsIn(variants, when));

const holdsIn = (variants: Partial<Variants>, when: Partial<Variants>): boolean =>
  Object.entries(when).every(([name, value]) => variants[name as keyof Variants] === value);

/** Two thirds of the points as is to be expected, the others anyhow. `fixed` holds whatever comes of the rest. */
export function chooseVariants(
  random: Random,
  fixed: Partial<Variants>,
  { others }: { others: boolean },
): Partial<Variants> {
  for (;;) {
    const chosen: Record<string, string> = {};
    for (const [name, { values }] of Object.entries(variantPoints)) {
      const odd = random.chance(0.3);
      const value = random.pick(Object.keys(values));
      if (odd && !ELSEWHERE.has(name) && (others || !OF_OTHERS.has(name))) chosen[name] = value;
    }
    // Another tool on the key takes what the checks of the budget rest on; once in a while is enough.
    if (chosen['shared-key'] === 'yes' && random.chance(0.7)) delete chosen['shared-key'];
    const variants = { ...(chosen as Partial<Variants>), ...fixed };
    if (excludes(variants).every(({ when }) => holdsIn(fixed, when))) return variants;
  }
}

/** Every value of every point by itself, the expected ones left out. */
export function alone(): Partial<Variants>[] {
  return Object.entries(variantPoints).flatMap(([name, { values, likely }]) =>
    ELSEWHERE.has(name)
      ? []
      : Object.keys(values)
          .filter(value => value !== likely)
          .map(value => ({ [name]: value })),
  );
}

/** Two values of different points, at random, but for what equality cannot be asked under and nothing tells. */
export function pairOf(random: Random): Partial<Variants> {
  const all = alone();
  for (;;) {
    const pair = { ...random.pick(all), ...random.pick(all) };
    if (Object.keys(pair).length === 2 && excludes(pair).every(({ told }) => told)) return pair;
  }
}
