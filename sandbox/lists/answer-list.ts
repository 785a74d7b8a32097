import type { Data } from '../data/data.ts';
import type { Filter, Table } from '../data/table.ts';
import { failure, type Meta, rowList, validationFailure } from '../envelopes/responses.ts';
import { type BadDay, withLoss, withRewrite } from '../faults/bad-days.ts';
import type { ListFault } from '../faults/fault-kinds.ts';
import type { Variants } from '../variants/variants.ts';
import { choosePage } from './choose-page.ts';
import { type ListedResource, listedResources, listShapes } from './list-shapes.ts';
import { createListing, isOnPage, type Listing } from './ordering.ts';
import { dateErrors, readFilter } from './read-filter.ts';
import { type AddFields, formOf, renderRow } from './render-row.ts';
import { spoilPage, spoilRow } from './spoil-page.ts';

/** Answers `GET` on a list. `salt` varies by request, for orders and faults that do too. */
export type AnswerList = (
  resource: ListedResource,
  query: URLSearchParams,
  variants: Variants,
  /** `renderNow`: the rows change back once this returns. `countOf`: what the answer says of a count. */
  request: {
    salt: number;
    fault: ListFault | undefined;
    renderNow: boolean;
    badDay: BadDay | null;
    addFields: AddFields;
    countOf: (filter: string, count: number) => number;
  },
) => Response;

type Json = Record<string, unknown>;

/** The position of a row that is null. */
const NULL_ROW = -1;
/** Where in a list they are. */
const NULL_ROWS = { no: [], yes: [0], two: [0, 29] } as const;
const WRAPPED_EVERY = 10;

export function createListAnswers(data: Data, seed: number): AnswerList {
  const listings = new Map<ListedResource, Listing>();
  for (const resource of listedResources) {
    listings.set(resource, createListing(data[resource] as Table<{ id: number }>, seed));
  }
  return (resource, query, variants, { salt, fault, renderNow, badDay, addFields, countOf }) => {
    const errors = dateErrors(resource, query, variants);
    if (errors !== undefined) return validationFailure(Number(variants.validation), errors);

    const filter = readFilter(resource, query, variants);
    const { order, visible, ids } = variants;
    const selected = (listings.get(resource) as Listing).positions(filter, order, visible, salt, ids);
    const matching =
      listShapes[resource].owner === 'customer_id' && showsNewer(filter, variants)
        ? selected.filter(at => 2 * at >= data[resource].length)
        : selected;
    // A row without fields matches no filter.
    const nulls = NULL_ROWS[variants['null-rows']];
    const found = Object.keys(filter).length === 0 && nulls.length > 0 ? withNulls(matching, nulls) : matching;
    const paging = resource === 'customers' ? 'meta' : variants.paging;
    const unfiltered = () =>
      (listings.get(resource) as Listing).positions({}, variants.order, variants.visible, salt).length + nulls.length;
    const error = variants.estimates === 'yes' ? estimateError(salt) : 0;
    const counts = {
      matching: found.length,
      counted: countOf(JSON.stringify(filter), found.length) + error,
      unfiltered: variants.totals === 'unfiltered' ? countOf('', unfiltered()) + error : found.length,
    };
    const isOfCustomer = listShapes[resource].owner === 'customer_id' && isByOwner(filter);
    if (isOfCustomer && found.length === 0 && variants['customer-rows'] === 'refused')
      return validationFailure(Number(variants.validation), { customer_id: 'The selected customer is invalid' });
    const isLighter = isOfCustomer && variants['customer-rows'] === 'lighter';
    const page = choosePage(query, counts, paging, variants);
    if (page.kind === 'not found') return failure(404, 'Page not found');
    if (found.length === 0 && variants['no-rows'] === '404') return failure(404, 'No records found');
    if (found.length === 0 && variants['empty-form'] !== 'list') return noRows(variants['empty-form']);
    if (page.kind === 'invalid') return validationFailure(Number(variants.validation), page.errors);

    const table = data[resource];
    const cut = found.slice(page.from, page.to);
    const isLeft = (position: number) => position === NULL_ROW || isOnPage(variants.pages, table.at(position).id);
    const onPage = variants.pages === 'full' ? cut : Array.from(cut).filter(isLeft);
    const sent = spoilPage(fault, onPage.length, page.meta, salt);
    const position = (index: number) => onPage[sent.sourceIndex(index)] as number;
    const row = (index: number) => {
      if (position(index) === NULL_ROW) return null;
      const stored = table.at(position(index));
      const today = badDay?.resource === resource ? badDay : null;
      const shown =
        today === null ? stored : withRewrite(today, stored, besideIn(table as Table<typeof stored>, position(index)));
      const whole = addFields(resource, stored, renderRow(resource, shown, variants, true));
      const usual = isLighter ? withoutDetails(whole) : whole;
      const rendered = today === null ? usual : withLoss(today, usual);
      if (variants.secrets === 'wrapped' && stored.id % WRAPPED_EVERY === 0) return [rendered];
      // Nothing is documented of the invented lists, so no value of theirs is of the wrong kind.
      return listShapes[resource].invented ? rendered : spoilRow(fault, rendered, stored.id);
    };
    const meta = sent.meta && writeMeta(sent.meta, variants['total-records']);
    const isLimited = variants['most-weight'] !== 'none' && paging !== 'meta' && paging !== 'no-meta';
    if (!renderNow && !isLimited) return rowList(sent.count, row, meta, formOf(variants));
    const all = Array.from({ length: sent.count }, (_, index) => row(index));
    const rows = isLimited ? withinWeight(all, variants['most-weight']) : all;
    return rowList(rows.length, index => rows[index] ?? null, meta, formOf(variants));
  };
}

/** The first rows, as many as the limit allows. */
function withinWeight<R>(rows: readonly R[], limit: Variants['most-weight']): readonly R[] {
  const [most, measure] = limit.split('-') as [string, string];
  const linesOf = (row: unknown) => Math.max(1, ((row as { items?: unknown[] } | null)?.items ?? []).length);
  const weightOf = (row: unknown) => (measure === 'lines' ? linesOf(row) : JSON.stringify(row).length);
  let weight = 0;
  const end = rows.findIndex(row => {
    weight += weightOf(row);
    return weight > Number(most);
  });
  return end < 0 ? rows : rows.slice(0, end);
}

/** Of the nth request. */
const estimateError = (nth: number): number => 1 + ((nth * 7) % 11);

function noRows(form: Exclude<Variants['empty-form'], 'list'>): Response {
  if (form === 'message') return failure(200, 'No records found');
  return Response.json({ success: true, data: form === 'null' ? null : {} });
}

/** Groups of digits: as numbers are printed for people. */
function writeMeta({ total_records: records, ...pages }: Meta, form: Variants['total-records']): object {
  if (form === 'none') return pages;
  const grouped = () =>
    String(records)
      .padStart(4, '0')
      .replace(/(\d)(?=(\d{3})+$)/g, '$1,');
  return { ...pages, total_records: form === 'number' ? records : grouped() };
}

const isByOwner = ({ owner, fromDay, toDay }: Filter): boolean =>
  owner !== undefined && fromDay === undefined && toDay === undefined;

const showsNewer = (filter: Filter, { 'customer-rows': rows }: Variants): boolean =>
  rows === 'newer' && isByOwner(filter);

function withoutDetails({ items: _items, notes: _notes, date: _date, due_date: _due, ...rest }: Json): Json {
  return rest;
}

/** The row that shares a pair of positions with this one; the last row may be alone. Deletions and new rows change no pair. */
function besideIn<Row extends { id: number }>(table: Table<Row>, position: number): Row {
  const beside = position ^ 1;
  return table.at(beside < table.length ? beside : position);
}

function withNulls(positions: Iterable<number>, places: readonly number[]): number[] {
  const found = [...positions];
  for (const place of places) found.splice(place, 0, NULL_ROW);
  return found;
}
