import { driftText, type FieldDrift, parseDrift } from './field-drift.ts';
import type { LackedByValue } from './lacked-by-value.ts';
import type { ListEnd } from './list-end.ts';
import type { ListOrder, Observation, Traits } from './observation.ts';
import { NOT_VOLATILE, type Volatile, volatileText } from './observe-volatile.ts';

/**
 * What a source was observed to do with one list, where its document is silent. Null, false and 0 mean: not observed.
 * The document of each property is that of the trait it is stored as (`observation.ts`).
 */
export interface SourceProfile {
  readonly order: ListOrder | null;
  readonly paging: 'ignored' | 'until empty' | null;
  readonly pageSize: number | null;
  readonly mostAccepted: number | null;
  readonly limit: 'ignored' | 'honoured' | null;
  readonly exceedsLimit: boolean;
  readonly exceedsCap: number;
  readonly oneAnswer: 'cut' | 'complete' | null;
  readonly ids: 'yes' | 'no' | null;
  readonly editsInPlace: boolean;
  readonly notOrderedBy: ReadonlySet<string>;
  readonly lackedByValue: LackedByValue | null;
  readonly hidesDates: boolean;
  readonly hasUndated: boolean;
  readonly ignoresDates: boolean;
  readonly needsBothDates: boolean;
  readonly dateFrom: 'inclusive' | 'in doubt' | null;
  readonly dateTo: 'inclusive' | 'in doubt' | null;
  /** What the address of a row answers proves nothing. */
  readonly hidesDeletion: boolean;
  readonly addressAnswered: string | null;
  readonly addressShown: string | null;
  readonly listShown: string | null;
  /** The date filter leaves out rows that the list shows, or the list rows that its filter by a watched value shows. */
  readonly leavesOut: boolean;
  readonly fields: ReadonlySet<string>;
  readonly drift: FieldDrift | null;
  readonly volatile: Volatile;
  readonly counts: 'doubted once' | 'doubted twice' | 'unreliable' | 'unfiltered' | 'unfiltered, unreliable' | null;
  /** The text of the slice whose count is in doubt. */
  readonly doubtedCount: string | null;
  readonly controlTotals: 'agree' | 'other rules' | 'absent' | null;
  readonly ignoredFilters: ReadonlySet<string>;
  readonly end: ListEnd | null;
  /** By field of the filter. */
  readonly longest: ReadonlyMap<string, number>;
  /** By the bound of the window. */
  readonly daysShown: ReadonlyMap<string, number>;
}

export const UNKNOWN: SourceProfile = {
  order: null,
  paging: null,
  pageSize: null,
  mostAccepted: null,
  limit: null,
  exceedsLimit: false,
  exceedsCap: 0,
  oneAnswer: null,
  ids: null,
  editsInPlace: false,
  notOrderedBy: new Set(),
  lackedByValue: null,
  hidesDates: false,
  hasUndated: false,
  ignoresDates: false,
  needsBothDates: false,
  dateFrom: null,
  dateTo: null,
  hidesDeletion: false,
  addressAnswered: null,
  addressShown: null,
  listShown: null,
  leavesOut: false,
  fields: new Set(),
  drift: null,
  volatile: NOT_VOLATILE,
  counts: null,
  doubtedCount: null,
  controlTotals: null,
  ignoredFilters: new Set(),
  end: null,
  longest: new Map(),
  daysShown: new Map(),
};

/** The profile once this was observed; the same object where it was known. */
export function withObservation(profile: SourceProfile, observation: Observation): SourceProfile {
  const next = { ...profile, ...propertyOf(profile, observation) };
  const isKnown = (Object.keys(next) as (keyof SourceProfile)[]).every(name => next[name] === profile[name]);
  return isKnown ? profile : next;
}

/** The profile that stored traits add up to. A trait that this version does not know is left aside. */
export const profileOf = (traits: Iterable<{ readonly trait: string; readonly value: string }>): SourceProfile =>
  [...traits].reduce((profile, { trait, value }) => {
    return withObservation(profile, { trait, value, evidence: '' } as Observation);
  }, UNKNOWN);

function propertyOf(profile: SourceProfile, { trait, value }: Observation): Partial<SourceProfile> {
  switch (trait) {
    case 'order':
      return { order: value };
    case 'paging':
      return { paging: value };
    case 'page size':
      return { pageSize: Number(value) };
    case 'most accepted':
      return { mostAccepted: Number(value) };
    case 'limit':
      return { limit: value };
    case 'more than asked':
      return { exceedsLimit: true };
    case 'goes beyond':
      return { exceedsCap: Number(value) };
    case 'one answer':
      return { oneAnswer: value };
    case 'ids':
      return { ids: value };
    case 'edits':
      return { editsInPlace: true };
    case 'not ordered by':
      return value === [...profile.notOrderedBy].sort().join() ? {} : { notOrderedBy: new Set(value.split(',')) };
    case 'lacked by value':
      return value === JSON.stringify(profile.lackedByValue)
        ? {}
        : { lackedByValue: JSON.parse(value) as LackedByValue };
    case 'dates':
      return { hidesDates: true };
    case 'undated':
      return { hasUndated: true };
    case 'date filter':
      return { ignoresDates: true };
    case 'date bounds':
      return { needsBothDates: true };
    case 'date from':
      return { dateFrom: value };
    case 'date to':
      return { dateTo: value };
    case 'address':
      return { hidesDeletion: true };
    case 'address answered':
      return { addressAnswered: value };
    case 'address shown':
      return { addressShown: value };
    case 'list shown':
      return { listShown: value };
    case 'left out':
      return { leavesOut: true };
    case 'fields':
      return value === [...profile.fields].sort().join() ? {} : { fields: new Set(value.split(',')) };
    case 'drift':
      return profile.drift !== null && value === driftText(profile.drift) ? {} : { drift: parseDrift(value) };
    case 'volatile':
      return value === volatileText(profile.volatile) ? {} : { volatile: JSON.parse(value) as Volatile };
    case 'counts':
      return countsOf(value);
    case 'control totals':
      return { controlTotals: value };
    case 'end':
      return value === JSON.stringify(profile.end) ? {} : { end: JSON.parse(value) as ListEnd };
    default:
      if (trait.startsWith('filter ')) return withFilter(profile, trait.slice('filter '.length));
      for (const [start, property] of NUMBERS)
        if (trait.startsWith(start)) return withNumber(profile, property, trait.slice(start.length), Number(value));
      return {};
  }
}

/** Earlier versions stored a doubt without its slice. */
function countsOf(value: Traits['counts']): Pick<SourceProfile, 'counts' | 'doubtedCount'> {
  if (value === 'agree') return { counts: null, doubtedCount: null };
  // The text of a slice may hold the same separator.
  const [counts, ...slice] = value.split(': ');
  return { counts: counts as SourceProfile['counts'], doubtedCount: slice.length > 0 ? slice.join(': ') : null };
}

const withFilter = ({ ignoredFilters }: SourceProfile, field: string): Partial<SourceProfile> =>
  ignoredFilters.has(field) ? {} : { ignoredFilters: new Set([...ignoredFilters, field]) };

/** Traits that are numbers, by how their names begin. */
const NUMBERS = [
  ['longest ', 'longest'],
  ['days shown ', 'daysShown'],
] as const;

function withNumber(
  profile: SourceProfile,
  property: (typeof NUMBERS)[number][1],
  of: string,
  value: number,
): Partial<SourceProfile> {
  return profile[property].get(of) === value ? {} : { [property]: new Map([...profile[property], [of, value]]) };
}
