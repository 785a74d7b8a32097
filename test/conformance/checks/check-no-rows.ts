import { type Finding, observed, undetermined, unrecognized } from '../findings/finding.ts';
import { type ListName, pathOf, shapeOf } from '../lists/documented-lists.ts';
import { FEW, type ListReadings } from '../lists/read-lists.ts';
import type { Requester } from '../requests/requester.ts';

interface Filter {
  readonly name: ListName;
  readonly filter: Readonly<Record<string, string>>;
}

const NO_NAME = 'no customer has this name';
/** Before any row, and within the years that all sources accept. */
const NO_DAYS = { date_from: '1950-01-01', date_to: '1950-01-02' };

/** `no-rows`: requests filters that match nothing, until one shows no row. */
export async function checkNoRows(requester: Requester, { offered }: ListReadings): Promise<Finding> {
  const empty = offered.find(({ first }) => first.count === 0);
  if (empty) return observed('no-rows', 'list', `${empty.name}: an empty list`);
  const dated = offered.filter(({ name }) => shapeOf(name).dated);
  const filters: Filter[] = [
    { name: 'customers', filter: { search: NO_NAME } },
    ...dated.map(({ name }) => ({ name, filter: NO_DAYS })),
  ];
  for (const { name, filter } of filters) {
    const { verdict, status, count } = await requester.request(pathOf(name), {
      query: { ...filter, page: 1, limit: FEW },
    });
    const requested = `${name}: requested ${Object.values(filter).join(' to ')}`;
    if (verdict.kind === 'gone')
      return observed('no-rows', status === 404 ? '404' : 'list', `${requested}, got HTTP ${status} without rows`);
    if (verdict.kind === 'success' && count === 0) return observed('no-rows', 'list', `${requested}, got no rows`);
    if (verdict.kind === 'retry')
      return unrecognized('no-rows', `${requested}, got ${verdict.what}`, 'not: reading fails when no row matches');
    // Otherwise this filter is ignored or refused, which other points report.
  }
  return undetermined('no-rows', 'no filter hides all rows of a list');
}
