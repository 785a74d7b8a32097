import type { ListFault } from '../faults/fault-kinds.ts';
import type { Meta } from './choose-page.ts';

/** A page as it is sent: how many rows, which of the page's own stands at each place, and what is said of the list. */
export interface SentPage {
  count: number;
  place(index: number): number;
  meta: Meta | undefined;
}

const TOTAL_IS_OFF_BY = 3;

/** A page that looks healthy and is not true. `salt` differs from request to request. */
export function spoilList(fault: ListFault | undefined, count: number, meta: Meta | undefined, salt: number): SentPage {
  const sound: SentPage = { count, place: index => index, meta };
  switch (fault) {
    case undefined:
    case 'list-changes':
      return sound;
    case 'row-twice': {
      const twice = Math.floor(count / 2);
      return count === 0 ? sound : { ...sound, count: count + 1, place: index => (index > twice ? index - 1 : index) };
    }
    case 'rows-missing':
      return { ...sound, count: Math.floor(count / 2), place: index => 2 * index + 1 };
    case 'missing-meta':
      return { ...sound, meta: undefined };
    case 'moved-total': {
      const by = salt % 2 === 0 ? TOTAL_IS_OFF_BY : -TOTAL_IS_OFF_BY;
      return { ...sound, meta: meta && { ...meta, total_records: Math.max(0, meta.total_records + by) } };
    }
    case 'empty-list':
      return { ...sound, count: 0 };
    case 'empty-list-zero':
      return { ...sound, count: 0, meta: meta && { ...meta, total_pages: 1, total_records: 0 } };
  }
}
