import type { Meta } from '../envelopes/responses.ts';
import type { ListFault } from '../faults/fault-kinds.ts';

/** A page as it is sent. */
export interface SentPage {
  count: number;
  /** The index, in the true page, of the row sent at `index`. */
  sourceIndex(index: number): number;
  meta: Meta | undefined;
}

const TOTAL_OFF_BY = 3;

/** Makes a page look valid and be wrong. `salt` varies by request. */
export function spoilPage(fault: ListFault | undefined, count: number, meta: Meta | undefined, salt: number): SentPage {
  const unchanged: SentPage = { count, sourceIndex: index => index, meta };
  switch (fault) {
    case undefined:
    case 'list-changes':
    case 'rows-unreadable':
      return unchanged;
    case 'row-twice': {
      const repeated = Math.floor(count / 2);
      if (count === 0) return unchanged;
      return { ...unchanged, count: count + 1, sourceIndex: index => (index > repeated ? index - 1 : index) };
    }
    case 'rows-missing':
      return { ...unchanged, count: Math.floor(count / 2), sourceIndex: index => 2 * index + 1 };
    case 'missing-meta':
      return { ...unchanged, meta: undefined };
    case 'moved-total': {
      const by = salt % 2 === 0 ? TOTAL_OFF_BY : -TOTAL_OFF_BY;
      return { ...unchanged, meta: meta && { ...meta, total_records: Math.max(0, meta.total_records + by) } };
    }
    case 'empty-list':
      return { ...unchanged, count: 0 };
    case 'empty-list-zero':
      return { ...unchanged, count: 0, meta: meta && { ...meta, total_pages: 1, total_records: 0 } };
  }
}

const EVERY_NTH = 5;

/** Any row as it is sent, unless the fault hits it: then its first field beside the id holds an object. */
export function spoilRow(
  fault: ListFault | undefined,
  row: Record<string, unknown>,
  id: number,
): Record<string, unknown> {
  if (fault !== 'rows-unreadable' || id % EVERY_NTH !== 0) return row;
  const [field] = Object.keys(row).filter(name => name !== 'id' && name !== 'items');
  return field === undefined ? row : { ...row, [field]: { error: 'unreadable' } };
}
