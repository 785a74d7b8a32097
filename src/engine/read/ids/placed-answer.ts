import type { Reached } from '../../../source/paging/stable-reading.ts';
import type { Observation } from '../../profile/observation.ts';
import { isFull, reachesCount } from '../../profile/page-length.ts';
import type { SourceProfile } from '../../profile/source-profile.ts';
import type { Resource } from '../../resource.ts';
import { isId } from '../../slices/id-ranges.ts';
import type { IdSlice } from '../../slices/slice.ts';
import type { Task } from '../../task/task.ts';
import { recalled } from '../answer/known-rows.ts';
import { observeAnswer } from '../answer/observe-answer.ts';
import { type ParsedRows, parseRows } from '../answer/parse-rows.ts';
import type { PageAnswer } from '../fetch/fetch-page.ts';
import type { Step } from '../step.ts';
import { type AddressedPage, miscountOf, type Place, placePage } from './place-page.ts';

/** An answer, and where it lies in the list. */
export interface PlacedAnswer {
  readonly answer: PageAnswer;
  readonly page: AddressedPage;
  readonly place: Place;
  /** The page of the list's last row, where the answer shows the end. */
  readonly lastPage: AddressedPage;
  readonly parsed: ParsedRows;
  /** What the page behind it shows of the list. */
  readonly shownBehind?: readonly Observation[];
}

/** `neighbour` and `previous`: as for `placePage`. */
export function placeAnswer(
  resource: Resource,
  answer: PageAnswer,
  neighbour: Place | null = null,
  previous: PlacedAnswer | null = null,
): PlacedAnswer {
  const { page, limit, meta } = answer;
  const ids = idsOf(answer, resource.job.key);
  const addressed: AddressedPage = {
    page,
    limit,
    rows: answer.rows.length,
    ids,
    meta,
    isFull: isFull(resource.profile, answer),
    reachesCount: reachesCount(resource.profile, { ...answer, rows: answer.rows.length }),
    isGap: answer.thinned !== undefined && answer.rows.length === 0,
  };
  const place = placePage(addressed, resource.profile.order, neighbour, previous?.place ?? null);
  // Where the answer shows the end of the list, that follows from the last row of the page before.
  const parsed =
    previous !== null && place.endsPrevious
      ? onlyRow(previous.parsed, String(place.last))
      : parseRows(resource, answer, new Set());
  const lastPage = place.endsPrevious && previous !== null ? previous.page : addressed;
  return { answer, page: addressed, place, lastPage, parsed };
}

/** One row of an answer that is counted already. */
const onlyRow = (parsed: ParsedRows, key: string): ParsedRows => ({
  ...parsed,
  rows: parsed.rows.filter(row => row.key === key),
  bad: parsed.bad.filter(record => record.key === key),
  replaced: 0,
});

/** The last row of the list, where the answer that showed it is known, so that it is not written again. */
const shownBefore = ({ place, parsed }: PlacedAnswer): Pick<Step, 'held'> =>
  parsed.rows.length + parsed.bad.length === 0 ? { held: [String(place.last)] } : {};

/** Every row's id counts, also of one that does not parse; a row without a readable id, and rows in no order, leave the interval in doubt. */
function idsOf({ rows, unordered }: PageAnswer, keyField: string): bigint[] | null {
  if (unordered) return null;
  const ids = rows.map(raw => idOf(raw, keyField));
  return ids.includes(null) ? null : (ids as bigint[]);
}

/** Null if it cannot be read. */
export function idOf(raw: unknown, keyField: string): bigint | null {
  const id = (raw as Record<string, unknown> | null)?.[keyField];
  return (typeof id === 'number' || typeof id === 'string') && isId(String(id)) ? BigInt(id) : null;
}

/** The end of the list, if the page shows it. What lies before a later page is known once it is whether the source keeps to the limit. */
function endOfList(
  { limit: honours, pageSize }: SourceProfile,
  { place, lastPage }: PlacedAnswer,
): Reached | undefined {
  if (!place.isEnd || place.last === null) return undefined;
  const { page, limit, rows } = lastPage;
  const sizes = { honoured: Math.min(limit, pageSize ?? limit), ignored: pageSize };
  const size = honours === null ? null : sizes[honours];
  const length = page === 1 ? rows : size === null ? null : (page - 1) * size + rows;
  return { rows: place.total ?? length, last: String(place.last), counted: place.pages !== null };
}

/** `previous`: the page before; `before`: rows known to lie before this one; `more`: what else it teaches. */
export function stepOf(
  { task, range }: { readonly task: Task; readonly range: IdSlice },
  placed: PlacedAnswer,
  { previous, before, more = [] }: { previous: PageAnswer | null; before: number; more?: readonly Observation[] },
): Step {
  const { resource } = task;
  const { answer, page, place, parsed, shownBehind = [] } = placed;
  const learnt = observeAnswer(resource, answer, { pages: place.pages, previous });
  // One row shows no order, unless it has no readable id.
  const showsOrder = answer.rows.length > 1 || page.ids === null;
  if (place.order !== null && place.order !== resource.profile.order && showsOrder) {
    const shown = page.ids === null ? `${answer.rows.length} rows` : `ids ${place.first} to ${place.last}`;
    const evidence = `${shown} on page ${answer.page}`;
    learnt.push({ trait: 'order', value: place.order, evidence });
  }
  // The place of a row then tells no page.
  if (answer.thinned) learnt.push({ trait: 'order', value: 'none', evidence: answer.thinned });
  const { requests, release, grantedAt: startedAt } = answer;
  const miscounted = miscountOf(page, place, before);
  return {
    resource,
    task,
    slice: range,
    rows: parsed.rows,
    bad: parsed.bad,
    replaced: parsed.replaced,
    fields: parsed.fields,
    ...(place.endsPrevious ? shownBefore(placed) : recalled(resource, answer, parsed)),
    requests,
    release,
    learnt: [...learnt, ...shownBehind, ...more],
    total: place.total,
    end: place.interval
      ? { kind: 'proven', slice: place.interval, startedAt, reached: endOfList(resource.profile, placed) }
      : {
          kind: 'unproven',
          reason: 'the answer does not show which ids it covers',
          startedAt,
          ...(miscounted !== undefined && {
            miscounted,
            ...(page.rows > 0 && { miscountedRows: `${page.rows}, ${place.first} to ${place.last}` }),
          }),
        },
  };
}
