import type { LastShown } from './shown-though-lacked.ts';

/** How a list was found to be ordered. */
export type ListOrder = 'id-desc' | 'id-asc' | 'updated-desc' | 'none';

/** The first and the last day of a date window, by the name under which it is stored. */
export type Edge = 'date from' | 'date to';

/** What can be observed of a list, by the names and values that `sluice.traits` stores. */
export interface Traits {
  order: ListOrder;
  /** `until empty`: pages follow each other without a count; `ignored`: every page is the first. */
  paging: 'ignored' | 'until empty';
  /** Rows a page holds when more were asked for. */
  'page size': `${number}`;
  /** The longest page that the source did not refuse to be asked for. */
  'most accepted': `${number}`;
  /** Whether the source keeps to the page size asked for. */
  limit: 'ignored' | 'honoured';
  'more than asked': 'yes';
  /** The greatest of the usual caps that an answer was longer than. */
  'goes beyond': `${number}`;
  /** Whether the one answer of a list without pages is the whole list. */
  'one answer': 'cut' | 'complete';
  ids: 'yes' | 'no';
  /** Edited rows keep their place in the order by id. */
  edits: 'in place';
  /** Declared fields whose values rise and fall in the order by id, separated by commas: no row takes its place by them. */
  'not ordered by': string;
  /** A row that the list of its value lacked: a `LackedByValue` as JSON. */
  'lacked by value': string;
  /** Rows come without their date. */
  dates: 'no';
  /** Some rows have no date that a window could ask for. */
  undated: 'yes';
  /** The date filter leaves out rows that the list shows, such as drafts, or the list rows that another filter shows. */
  'left out': 'yes';
  'date filter': 'ignored';
  /** `both`: the filter works only with both dates. */
  'date bounds': 'both';
  'date from': 'inclusive' | 'in doubt';
  'date to': 'inclusive' | 'in doubt';
  /**
   * What the source's own counts are worth; doubts become `unreliable`, unless the count of that slice agrees with its rows later.
   * `unfiltered`: they ignore the filter.
   */
  counts: 'agree' | `doubted ${'once' | 'twice'}: ${string}` | 'unreliable' | 'unfiltered' | 'unfiltered, unreliable';
  /** What addresses of rows say of a deletion: nothing, as they answer otherwise than with 404, or with 404 for rows that the list shows. */
  address: 'no 404';
  /** When an address last answered for a row that the list shows; `in doubt` once the list shows a row again that it denied. */
  'address answered': string;
  /** Since when the list has lacked a row that two of its readings lacked and its address showed. */
  'address shown': string;
  /** The row that the list showed last although its date window lacked it: when, and a hash of its key. */
  'list shown': LastShown;
  /** The known fields that its rows carry, separated by commas. */
  fields: string;
  /** The fields that it carries beside the declared ones, and those that it carries no more: a `FieldDrift` as JSON. */
  drift: string;
  /** Unknown fields that have another value in nearly every answer: a `Volatile` as JSON. */
  volatile: string;
  'control totals': 'agree' | 'other rules' | 'absent';
  /** Where the unfiltered list ends: a `ListEnd` as JSON. */
  end: string;
}

type OneOf<T> = { [K in keyof T]: { readonly trait: K; readonly value: T[K] } }[keyof T];

/** What a page or a reading showed of the source's behaviour, with the evidence in plain words. */
export type Observation = (
  | OneOf<Traits>
  /** `cut`: it shows only a part of the rows of a value. */
  | { readonly trait: `filter ${string}`; readonly value: 'ignored' | 'cut' }
  /** The most days between a row and the bound of its window (`from`, `to`; `both from`, `both to` if both dates were asked for). */
  | { readonly trait: `days shown ${string}`; readonly value: `${number}` }
  /** Rows of the longest reading without a count that was filtered by this field; `in bytes` and `in lines`, the weight of its heaviest answer. */
  | { readonly trait: `longest ${string}`; readonly value: `${number}` }
) & { readonly evidence: string };
