import { dayOf, NO_DAY } from '../data/calendar.ts';
import type { Filter } from '../data/table.ts';
import type { Variants } from '../variants/variants.ts';
import { type ListedResource, listShapes } from './list-shapes.ts';

/** The filter that a query asks for, as far as the variants honour it. */
export function readFilter(resource: ListedResource, query: URLSearchParams, variants: Variants): Filter {
  const shape = listShapes[resource];
  const filter: Filter = {};
  const parameter = (name: string | undefined) => (name === undefined ? undefined : query.get(name) || undefined);
  if (variants.filters === 'honoured') {
    const state = parameter(shape.state?.name);
    const owner = parameter(shape.owner);
    if (state !== undefined) filter.state = state;
    if (owner !== undefined) filter.owner = /^\d+$/.test(owner) ? Number(owner) : Number.NaN;
  }
  const search = shape.searched && parameter('search');
  if (search) filter.search = search.toLowerCase();

  const from = shape.dated && parameter('date_from');
  const to = shape.dated && parameter('date_to');
  const rule = variants['date-filter'];
  if (rule === 'ignored' || (rule === 'pair-only' && !(from && to))) return filter;
  if (from) filter.fromDay = dayOf(from);
  if (to) filter.toDay = dayOf(to) - (variants['date-to'] === 'exclusive' ? 1 : 0);
  return filter;
}

/** A message for each invalid date; undefined if all are valid. */
export function dateErrors(resource: ListedResource, query: URLSearchParams): Record<string, string> | undefined {
  if (!listShapes[resource].dated) return undefined;
  const invalid = ['date_from', 'date_to'].filter(name => query.get(name) && dayOf(query.get(name)) === NO_DAY);
  return invalid.length === 0
    ? undefined
    : Object.fromEntries(invalid.map(name => [name, 'Invalid date, expected YYYY-MM-DD']));
}
