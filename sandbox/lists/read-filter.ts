import { dayOf, NO_DAY } from '../data/calendar.ts';
import type { Filter } from '../data/table.ts';
import type { Variants } from '../variants/variants.ts';
import { ownId } from './edge-ids.ts';
import { type ListedResource, listShapes } from './list-shapes.ts';

/** The most days that a limited date filter selects. */
const MOST_DAYS = 92;

/** The filter that a query asks for, as far as the variants honour it. */
export function readFilter(resource: ListedResource, query: URLSearchParams, variants: Variants): Filter {
  const shape = listShapes[resource];
  const filter: Filter = {};
  const parameter = (name: string | undefined) => (name === undefined ? undefined : query.get(name) || undefined);
  if (variants.filters === 'honoured') {
    const state = parameter(shape.state?.name);
    const owner = parameter(shape.owner);
    if (state !== undefined) filter.state = state;
    const ownerOf = shape.owner === 'customer_id' ? (text: string) => ownId(text, variants) : Number;
    if (owner !== undefined) filter.owner = /^\d+$/.test(owner) ? ownerOf(owner) : Number.NaN;
  }
  const search = shape.searched && parameter('search');
  if (search) filter.search = search.toLowerCase();

  const from = shape.dated && parameter('date_from');
  const to = shape.dated && parameter('date_to');
  const rule: string = variants['date-filter'];
  const shift = rule === 'later' ? 1 : rule === 'earlier' ? -1 : 0;
  if (rule === 'ignored' || (rule === 'pair-only' && !(from && to))) return filter;
  const day = (text: string) => dayOf(isFar(text) && variants['date-bounds'] === 'wrapped' ? '1970-01-01' : text);
  if (from) filter.fromDay = day(from) + shift;
  if (to) filter.toDay = day(to) + shift - (variants['date-to'] === 'exclusive' ? 1 : 0);
  if (to && variants['date-times'] === 'mixed' && variants['date-to'] === 'inclusive') filter.toMidnight = true;
  if ((from || to) && variants.drafts === 'hidden') filter.withoutDrafts = true;
  if (from || to) limitSpan(filter, variants['date-span']);
  return filter;
}

/** Cuts the days that were asked for to as many as the source selects. */
function limitSpan(filter: Filter, span: Variants['date-span']): void {
  const { fromDay, toDay } = filter;
  if (span === 'first-92' && fromDay !== undefined)
    filter.toDay = Math.min(toDay ?? Number.POSITIVE_INFINITY, fromDay + MOST_DAYS - 1);
  else if ((span === 'last-92' || span === 'first-92') && toDay !== undefined)
    filter.fromDay = Math.max(fromDay ?? Number.NEGATIVE_INFINITY, toDay - MOST_DAYS + 1);
}

/** Beyond the years that a server with 32-bit times knows in full. */
const isFar = (day: string): boolean => day < '1902-01-01' || day > '2037-12-31';

/** A message for each invalid date; undefined if all are valid. */
export function dateErrors(
  resource: ListedResource,
  query: URLSearchParams,
  { 'date-bounds': bounds, 'date-span': span }: Variants,
): Record<string, string> | undefined {
  if (!listShapes[resource].dated) return undefined;
  const isInvalid = (day: string) => dayOf(day) === NO_DAY || (bounds === 'rejected' && isFar(day));
  const invalid = ['date_from', 'date_to'].filter(name => query.get(name) && isInvalid(query.get(name) as string));
  if (invalid.length > 0) return Object.fromEntries(invalid.map(name => [name, 'Invalid date, expected YYYY-MM-DD']));
  const [from, to] = [query.get('date_from'), query.get('date_to')];
  const isLong = (from || to) && !(from && to && dayOf(to) - dayOf(from) < MOST_DAYS);
  return span === 'rejected-92' && isLong ? { date_to: `At most ${MOST_DAYS} days after date_from` } : undefined;
}
