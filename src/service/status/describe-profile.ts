import { MOST_NAMES, parseDrift } from '../../engine/profile/field-drift.ts';
import type { ListEnd } from '../../engine/profile/list-end.ts';
import type { Traits } from '../../engine/profile/observation.ts';
import type { Volatile } from '../../engine/profile/observe-volatile.ts';
import type { SourceTraits } from '../../engine/profile/source-traits.ts';
import type { Trait } from '../../warehouse/ledgers/traits.ts';

const COUNTS: Readonly<Record<string, string>> = {
  agree: '',
  unreliable: 'its count is wrong and not used',
  'unfiltered, unreliable': 'its count ignores the filter, is wrong, and not used',
  unfiltered: 'its count ignores filters and is not used for them',
};

type Observed = Traits & SourceTraits;

const among =
  <V extends string>(words: Readonly<Record<V, string>>) =>
  (value: V): string | undefined =>
    words[value];

/** The words for a value of each trait, in the order in which a sentence lists them. */
const WORDS: { readonly [Name in keyof Observed]: (value: Observed[Name]) => string | undefined } = {
  order: among({
    'id-desc': 'newest id first',
    'id-asc': 'oldest id first',
    'updated-desc': 'last updated first',
    none: 'no reliable order',
  }),
  paging: among({ ignored: 'one response without pages', 'until empty': 'pages without a count' }),
  'one answer': among({
    cut: 'one response does not hold the whole list',
    complete: 'one response holds the whole list',
  }),
  edits: among({ 'in place': 'edited rows keep their position' }),
  'not ordered by': value => `not ordered by ${value.split(',').join(', ')}`,
  // What follows from it is told by `filter`.
  'lacked by value': () => '',
  'page size': value => `page size ${value}`,
  'most accepted': value => `refuses to be asked for more than ${value} rows a page`,
  'goes beyond': value => `has returned more than ${value} rows in one response`,
  'more than asked': among({ yes: 'may return more rows than requested' }),
  limit: among({ ignored: 'ignores the requested page size', honoured: 'returns as many rows as requested' }),
  ids: among({ no: 'rows have no id', yes: 'every row has an id' }),
  dates: among({ no: 'rows do not include their date' }),
  undated: among({ yes: 'some rows have no date' }),
  'left out': among({ yes: 'some questions leave out rows that others show, such as drafts' }),
  'date filter': among({ ignored: 'ignores the date filter' }),
  'date bounds': among({ both: 'filters by date only with both dates' }),
  'date from': among({ inclusive: 'the start date is inclusive', 'in doubt': 'the start date may not be inclusive' }),
  'date to': among({ inclusive: 'the end date is inclusive', 'in doubt': 'the end date may not be inclusive' }),
  counts: value =>
    COUNTS[value] ?? `its count disagreed with its rows ${value.startsWith('doubted twice') ? 'twice' : 'once'}`,
  address: among({ 'no 404': 'the address of a row does not tell whether it was deleted' }),
  'address answered': value =>
    value === 'in doubt'
      ? 'the address of a row that was shown again had denied it'
      : `the address of a row last answered at ${value}`,
  'address shown': value => `the address of a row showed it, which the list had lacked since ${value.split(' ')[0]}`,
  'list shown': value => `it showed a row that its date window lacked at ${value.split(' ')[0]}`,
  fields: value => `rows have ${value.split(',').length} of the known fields`,
  // The fields themselves are told by `field-drift.ts`.
  drift: value =>
    parseDrift(value).unknown.size < MOST_NAMES
      ? ''
      : `rows have at least ${MOST_NAMES} unknown fields; further ones are not reported`,
  volatile: value => {
    const { fields } = JSON.parse(value) as Volatile;
    return fields.length === 0 ? '' : `a change of ${fields.join(', ')} alone is none: it comes with every reading`;
  },
  'control totals': among({
    agree: 'the monthly report agrees with the rows',
    'other rules': 'the monthly report follows other rules and is not used',
    absent: 'no monthly report',
  }),
  end: value => endWords(JSON.parse(value) as ListEnd),
  'requests at once': value =>
    value === 'as set'
      ? 'serves as many requests at once as SOURCE_CONCURRENCY says'
      : `serves at most ${value} requests at once; SOURCE_CONCURRENCY may be lowered to that`,
  'request limit': value => {
    const [, limit, seconds] = /^(\d+) in (\d+) s$/.exec(value) ?? [];
    return limit === undefined
      ? 'counts its request limit as SOURCE_RATE_WINDOW_SECONDS says'
      : `allows ${limit} requests in ${seconds} seconds or less; to use all of them: SOURCE_RATE_LIMIT=${limit} SOURCE_RATE_WINDOW_SECONDS=${seconds}`;
  },
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
    return { list, words: its.map(describeTrait).filter(Boolean).join('; ') };
  });
}

/** Empty where the end of the list is agreed. */
function endWords({ verdict, rows, counted }: ListEnd): string {
  if (verdict === 'agreed') return '';
  if (counted !== undefined) return `counts ${counted} rows, more than its pages show, so it is not proven complete`;
  return verdict === 'cut'
    ? `shows at most ${rows} rows without saying so, so it cannot be proven complete`
    : `nothing agrees yet that it ends after ${rows} rows, so it is not proven complete`;
}

function describeTrait({ trait, value }: Trait): string {
  const filter = /^filter (.+)$/.exec(trait)?.[1];
  if (filter !== undefined && value === 'ignored') return `ignores the ${filter} filter`;
  if (filter !== undefined && value === 'cut') return `shows only a part of the rows of one ${filter}`;
  const longest = /^longest (.+)$/.exec(trait)?.[1];
  if (longest !== undefined) {
    const [field, measure = 'rows'] = longest.split(' in ');
    return `has answered a filter by ${field} with ${value} ${measure}`;
  }
  // Of use to the planner only.
  if (trait.startsWith('days shown ')) return '';
  const words = (WORDS as Readonly<Record<string, (value: string) => string | undefined>>)[trait];
  return words?.(value) ?? `${trait}: ${value}`;
}
