import type { Trait } from '../../warehouse/ledgers/traits.ts';

const ORDERS: Readonly<Record<string, string>> = {
  'id-desc': 'newest id first',
  'id-asc': 'oldest id first',
  'updated-desc': 'last updated first',
  none: 'no reliable order',
};

const MONTHLY_REPORT: Readonly<Record<string, string>> = {
  agree: 'the monthly report agrees with the rows',
  'other rules': 'the monthly report follows other rules and is not used',
  absent: 'no monthly report',
};

type Describe = (value: string) => string | undefined;

const onlyFor =
  (expected: string, words: string): Describe =>
  value =>
    value === expected ? words : undefined;

/** The words for each trait's values, in the order in which a sentence lists them. */
const WORDS: Readonly<Record<string, Describe>> = {
  order: value => ORDERS[value],
  paging: value =>
    value === 'ignored' ? 'one response without pages' : value === 'until empty' ? 'pages without a count' : undefined,
  'one answer': value =>
    value === 'cut'
      ? 'one response does not hold the whole list'
      : value === 'complete'
        ? 'one response holds the whole list'
        : undefined,
  edits: onlyFor('in place', 'edited rows keep their position'),
  'page size': value => `page size ${value}`,
  'goes beyond': value => `has returned more than ${value} rows in one response`,
  'more than asked': onlyFor('yes', 'may return more rows than requested'),
  limit: onlyFor('ignored', 'ignores the requested page size'),
  ids: value => (value === 'no' ? 'rows have no id' : value === 'yes' ? 'every row has an id' : undefined),
  dates: onlyFor('no', 'rows do not include their date'),
  undated: onlyFor('yes', 'some rows have no date'),
  'date filter': onlyFor('ignored', 'ignores the date filter'),
  'date from': onlyFor('inclusive', 'the start date is inclusive'),
  'date to': onlyFor('inclusive', 'the end date is inclusive'),
  'control totals': value => MONTHLY_REPORT[value],
};

/**
 * What a source was observed to do, in plain words: one sentence for each list. A trait or value without words is shown as stored, so
 * that nothing is hidden.
 */
export function describeProfile(traits: readonly Trait[]): { list: string; words: string }[] {
  const lists = [...new Set(traits.map(trait => trait.resource))];
  const rank = Object.keys(WORDS);
  const placeOf = ({ trait }: Trait) => (rank.includes(trait) ? rank.indexOf(trait) : rank.length);
  return lists.map(list => {
    const its = traits.filter(trait => trait.resource === list).sort((a, b) => placeOf(a) - placeOf(b));
    return { list, words: its.map(describeTrait).join('; ') };
  });
}

function describeTrait({ trait, value }: Trait): string {
  const filter = /^filter (.+)$/.exec(trait)?.[1];
  if (filter !== undefined && value === 'ignored') return `ignores the ${filter} filter`;
  return WORDS[trait]?.(value) ?? `${trait}: ${value}`;
}
