import type { Trait } from '../../warehouse/ledgers/traits.ts';

const ORDERS: Readonly<Record<string, string>> = {
  'id-desc': 'newest id first',
  'id-asc': 'oldest id first',
  'updated-desc': 'last changed first',
  none: 'no order to rely on',
};

/** By trait, what each value is called; in the order in which a sentence tells them. */
const WORDS: Readonly<Record<string, (value: string) => string | undefined>> = {
  order: value => ORDERS[value],
  paging: value =>
    value === 'ignored' ? 'one body, no paging' : value === 'until empty' ? 'pages without a count' : undefined,
  'one answer': value =>
    value === 'cut'
      ? 'an answer does not hold the whole list'
      : value === 'complete'
        ? 'an answer holds the whole list'
        : undefined,
  edits: value => (value === 'in place' ? 'edited rows keep their place' : undefined),
  'page size': value => `page size ${value}`,
  'goes beyond': value => `answers of more than ${value} rows seen`,
  'more than asked': value => (value === 'yes' ? 'answers may hold more rows than asked for' : undefined),
  limit: value => (value === 'ignored' ? 'the size asked for is ignored' : undefined),
  ids: value => (value === 'no' ? 'no ids' : value === 'yes' ? 'every row has its id' : undefined),
  dates: value => (value === 'no' ? 'rows do not show their date' : undefined),
  undated: value => (value === 'yes' ? 'some rows have no date' : undefined),
  'date filter': value => (value === 'ignored' ? 'the date filter is ignored' : undefined),
  'date from': value => (value === 'inclusive' ? 'the first day asked for is included' : undefined),
  'date to': value => (value === 'inclusive' ? 'the last day asked for is included' : undefined),
  'control totals': value =>
    value === 'agree'
      ? 'its monthly report sums up as the rows do'
      : value === 'other rules'
        ? 'its monthly report follows other rules, and is not used'
        : value === 'absent'
          ? 'it has no monthly report'
          : undefined,
};

/**
 * What a source was found to do, in plain words: one sentence for each list. A trait without words of its own is told as it
 * stands, so that nothing that was learnt is hidden.
 */
export function habits(traits: readonly Trait[]): { list: string; words: string }[] {
  const lists = [...new Set(traits.map(trait => trait.resource))];
  const rank = Object.keys(WORDS);
  const placeOf = ({ trait }: Trait) => (rank.includes(trait) ? rank.indexOf(trait) : rank.length);
  return lists.map(list => {
    const its = traits.filter(trait => trait.resource === list).sort((a, b) => placeOf(a) - placeOf(b));
    return { list, words: its.map(inWords).join('; ') };
  });
}

function inWords({ trait, value }: Trait): string {
  const filter = /^filter (.+)$/.exec(trait)?.[1];
  if (filter !== undefined && value === 'ignored') return `the filter by ${filter} is ignored`;
  return WORDS[trait]?.(value) ?? `${trait}: ${value}`;
}
