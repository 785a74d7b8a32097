import type { Answer, RequestOptions, Row } from '../requests/send-request.ts';
import { type ListName, shapeOf } from './documented-lists.ts';

/** Rows inserted or deleted meanwhile change a count by at most so many. */
const COUNT_TOLERANCE = 3;

/** Finds a fault in a page itself, or in comparison with an earlier page of the same list. */
export function pageFault(name: ListName, earlier?: Answer): NonNullable<RequestOptions['findFault']> {
  return ({ rows = [], count, meta }) => {
    const ids = rows.map(row => row.id).filter(id => id !== undefined && id !== null);
    if (new Set(ids).size < ids.length) return 'row-twice';
    if (rows.some(row => isUnreadable(name, row))) return 'rows-unreadable';
    if (earlier?.meta && !meta) return 'missing-meta';
    const { currentPage = 1, totalPages, totalRecords } = meta ?? {};
    if (totalPages === undefined || totalRecords === undefined || currentPage > totalPages) return null;
    if (count === 0) return totalRecords > 0 ? 'empty-list' : earlier?.count ? 'empty-list-zero' : null;
    const isFull = currentPage < totalPages;
    const isConsistent = isFull
      ? Math.ceil(totalRecords / count) === totalPages
      : totalPages > 1 || count === totalRecords;
    if (isConsistent) return null;
    return Math.abs(totalRecords - count * totalPages) <= COUNT_TOLERANCE ? 'moved-total' : 'rows-missing';
  };
}

/** A documented field other than a list holds an object. */
function isUnreadable(name: ListName, row: Row): boolean {
  return Object.entries(shapeOf(name).fields).some(
    ([field, kind]) => kind !== 'items' && typeof row[field] === 'object' && row[field] !== null,
  );
}
