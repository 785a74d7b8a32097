import type { Given } from './plan.ts';

/** Seeds that failed once, and what was wrong. Plans change with `plan.ts`; the variants that mattered are given, too. */
export const REGRESSIONS: readonly { readonly seed: number; readonly given?: Given; readonly was: string }[] = [
  {
    seed: 11,
    given: { variants: { order: 'date-desc-loose', 'past-end': '404' } },
    was: 'a window whose rows slip between pages at every reading was never proven',
  },
  {
    seed: 14,
    given: { variants: { paging: 'capped', 'transaction-ids': 'no' } },
    was: 'rows without id were counted anew each time the same page came, without end',
  },
  {
    seed: 17,
    given: { variants: { paging: 'ignored', 'limit-max': '20-reject' } },
    was: 'a status list that is cut short was read again without end, and each reading asked for refused page sizes first',
  },
  {
    seed: 32,
    given: { variants: { 'limit-max': 'ignored', order: 'id-asc', undated: 'yes' } },
    was: 'where pages have a fixed size the same interval lacked a row for ever without confirming that it is gone',
  },
  {
    seed: 75,
    given: { variants: { paging: 'ignored', filters: 'ignored', states: 'more' } },
    was: 'a filter that the source ignores was believed, and rows that its first page lacks were deleted',
  },
  {
    seed: 85,
    given: { variants: { paging: 'no-meta', undated: 'yes', states: 'more', none: 'empty' } },
    was: 'rows without a date were not looked for where nothing counts them',
  },
  {
    seed: 213,
    given: { variants: { paging: 'no-meta' } },
    was: 'the end of a list without a count was never found by ids, and its last page passed for the page size',
  },
  {
    seed: 216,
    given: { variants: { paging: 'no-meta', order: 'date-desc-loose' } },
    was: 'rows that slipped between the pages of a list without a count were deleted',
  },
  {
    seed: 320,
    given: { variants: { 'limit-max': '20-reject', order: 'date-desc-loose' } },
    was: 'windows thought to be empty were asked for together for ever, however many rows came',
  },
];
