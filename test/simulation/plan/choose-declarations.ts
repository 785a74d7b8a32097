import type { Random } from '../../../sandbox/data/random.ts';
import type { Variants } from '../../../sandbox/variants/variants.ts';
import type { FieldType } from '../../../src/config/list-files.ts';
import type { TestResource } from '../../support/resources.ts';
import { comesWithoutIds } from './choose-variants.ts';

/** What the files in `lists/` and the settings of masks say. */
export interface Declaration {
  /** Types by field, by list; those of lines as `items.discount`. */
  readonly fields: Readonly<Record<string, Readonly<Record<string, FieldType>>>>;
  /** As SOURCE_NEVER and SOURCE_HASH. */
  readonly never: readonly string[];
  readonly hash: readonly string[];
  readonly hashKey: string;
}

/** Another declaration before an action, or, while a process reads, after one of its commits. */
export interface Redeclaration {
  readonly declaration: Declaration;
  readonly atCommit: number | null;
}

/** A list that only a file declares: the quotes once more. */
export const OWN = 'offers';

/** The list of the source whose rows a list shows. */
export const shownIn = (list: string): TestResource => (list === OWN ? 'quotes' : (list as TestResource));

/** The lists that have lines. */
export const hasLines = (list: string): boolean => ['invoices', 'quotes', OWN].includes(list);

/** Lists that keep their rows whole take no fields, and months have none. */
const EXTENDED = ['customers', 'invoices', 'transactions', 'products', 'quotes', 'tickets', 'users'];
export const takesFields = (list: string): boolean => list === OWN || EXTENDED.includes(list);
const TYPES: readonly FieldType[] = ['text', 'integer', 'decimal', 'date', 'timestamp'];
/** Each as often as the others, whether its values fit or not. */
const FIELDS = ['project', 'hours', 'seen_on', 'made_at', 'iban', 'details', 'remarks'];
const LINE_FIELDS = ['items.discount', 'items.iban'];
const KEYS = ['0123456789abcdef0123456789abcdef', 'fedcba9876543210fedcba9876543210'];

export function chooseDeclaration(
  random: Random,
  { read, variants, hasOwn }: { read: readonly TestResource[]; variants: Partial<Variants>; hasOwn: boolean },
): Declaration {
  const some = <T>(all: readonly T[], share: number): T[] => all.filter(() => random.chance(share));
  const isEverywhere = random.chance(0.25);
  const fields: Record<string, Record<string, FieldType>> = {};
  for (const list of [...read.filter(takesFields), ...(hasOwn ? [OWN] : [])]) {
    const shown = shownIn(list);
    // Where rows have no id, what they hold is their key, and no column of it can be masked.
    const isBare = comesWithoutIds(shown, variants);
    const own = FIELDS.filter(field => !(isBare && isEverywhere && field === 'iban'));
    const all = [...own, ...(hasLines(list) ? LINE_FIELDS : [])];
    fields[list] = Object.fromEntries(some(all, 0.4).map(field => [field, random.pick(TYPES)]));
  }
  const never = [
    ...(isEverywhere ? ['iban'] : some(['customers.iban', 'invoices.items.iban'], 0.2)),
    ...some(['customers.phone', 'invoices.notes', 'invoices.items.description'], 0.3),
  ];
  const hash = some(
    ['customers.email', ...(read.includes('users') && !comesWithoutIds('users', variants) ? ['users.email'] : [])],
    0.4,
  );
  const isText = fields.customers?.iban === 'text' && !isEverywhere && !never.includes('customers.iban');
  if (isText) hash.push(...some(['customers.iban'], 0.6));
  return { fields, never, hash, hashKey: random.chance(0.9) ? (KEYS[0] as string) : (KEYS[1] as string) };
}
