import type { Random } from '../../src/sandbox/random.ts';
import { type Variants, variantPoints } from '../../src/sandbox/variants.ts';

/** Points that a reading of customers, invoices and transactions never meets. */
const ELSEWHERE = new Set(['other-ids', 'auth-error', 'webhooks', 'report', 'other-lists', 'batch']);

/** What makes a source unreadable by nature: no client could end equal, so equality cannot be asked for. */
export const EXCLUDED: readonly { readonly when: Partial<Variants>; readonly why: string }[] = [
  { when: { visible: 'half' }, why: 'the key may not see half of the rows' },
  { when: { visible: 'none' }, why: 'the key may see no row' },
  { when: { none: 'absent' }, why: 'an absent field leaves what is stored, so a value that went away cannot be seen' },
  {
    when: { paging: 'no-meta', undated: 'yes' },
    why: 'nothing tells that windows lack rows unless the newest end shows one without a date',
  },
  ...(['capped', 'ignored'] as const).flatMap(paging => [
    { when: { paging, 'date-filter': 'ignored' } as const, why: 'only a first part of the list is ever shown' },
    {
      when: { paging, undated: 'yes' } as const,
      why: 'rows without a date lie in no window, and the list is cut short',
    },
    {
      when: { paging, 'invoice-fields': 'bare' } as const,
      why: 'invoices that do not show their date lie in no window, and the list is cut short',
    },
  ]),
];

const excludes = (variants: Partial<Variants>) => EXCLUDED.filter(({ when }) => holdsIn(variants, when));

const holdsIn = (variants: Partial<Variants>, when: Partial<Variants>): boolean =>
  Object.entries(when).every(([name, value]) => variants[name as keyof Variants] === value);

/** Two thirds of the points as is to be expected, the others anyhow. `fixed` holds whatever comes of the rest. */
export function chooseVariants(random: Random, fixed: Partial<Variants>): Partial<Variants> {
  for (;;) {
    const chosen: Record<string, string> = {};
    for (const [name, { values }] of Object.entries(variantPoints)) {
      const odd = random.chance(0.3);
      const value = random.pick(Object.keys(values));
      if (odd && !ELSEWHERE.has(name)) chosen[name] = value;
    }
    // Another tool on the key takes what the checks of the budget rest on; once in a while is enough.
    if (chosen['shared-key'] === 'yes' && random.chance(0.7)) delete chosen['shared-key'];
    const variants = { ...(chosen as Partial<Variants>), ...fixed };
    if (excludes(variants).every(({ when }) => holdsIn(fixed, when))) return variants;
  }
}
