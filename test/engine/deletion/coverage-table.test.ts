import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import customers from '../../../jobs/customers.ts';
import invoices from '../../../jobs/invoices.ts';
import products from '../../../jobs/products.ts';
import transactions from '../../../jobs/transactions.ts';
import { isDeleted, type ListClaims, type RowClaims, UNCOVERED } from '../../../src/engine/deletion/is-deleted.ts';
import { type Job, sortableFields } from '../../../src/engine/job.ts';
import { profileOf } from '../../../src/engine/profile/source-profile.ts';
import { strategyFor } from '../../../src/engine/profile/strategy.ts';
import { parseSlice } from '../../../src/engine/slices/slice.ts';

/** The table "a missing row is deleted when" of docs/coverage.md: list and proof of each line. */
const table = readFileSync(new URL('../../../docs/coverage.md', import.meta.url), 'utf8')
  .split('| a missing row is deleted when')[1]
  ?.split('\n\n')[0]
  ?.split('\n')
  .slice(2)
  .map(line => line.split('|').map(cell => cell.trim()))
  .map(([, list = '', proof = '']) => ({ list, proof }));

const IN_PLACE = { order: 'id-desc', edits: 'in place' };
const byIdOnly = (job: Job) => ({ ...IN_PLACE, 'not ordered by': sortableFields(job).join() });
const row = (more: Partial<RowClaims>): RowClaims => ({ key: '7', value: null, lacks: [], ...more });
const lacked = (...slices: string[]) => slices.map((slice, index) => ({ slice: parseSlice(slice), at: index + 1 }));
const since = (coveredSince: number): ListClaims => ({ coveredSince, unfilteredSince: null, count: null });

interface Line {
  readonly list: RegExp;
  readonly proof: RegExp;
  readonly cases: readonly { job: Job; traits: Record<string, string>; key?: string; value?: string }[];
  /** What is claimed of such a row, beside what follows from the case. */
  readonly proves: readonly { row: Partial<RowClaims>; list?: ListClaims }[];
  readonly provesNothing: readonly { row: Partial<RowClaims>; list?: ListClaims }[];
}

const LINES: readonly Line[] = [
  {
    list: /^customers/,
    proof: /404/,
    cases: [{ job: customers, traits: {} }],
    proves: [{ row: { denied: true } }],
    provesNothing: [{ row: { lacks: lacked('id 1..9', 'id 2..8') }, list: since(9) }],
  },
  {
    list: /^invoices.* by customer/,
    proof: /its customer's invoices/,
    cases: [{ job: invoices, traits: IN_PLACE, value: '3' }],
    proves: [{ row: { lacks: lacked('date 2025-01-01..', 'customer_id=3') } }],
    provesNothing: [{ row: { lacks: lacked('date 2025-01-01..', 'date 2025-01-01..') }, list: since(9) }],
  },
  {
    list: /^transactions and other lists in the order of ids, and invoices/,
    proof: /second response for the ids around it/,
    cases: [
      { job: transactions, traits: byIdOnly(transactions) },
      { job: products, traits: { ...byIdOnly(products), order: 'id-asc' } },
      { job: invoices, traits: { ...byIdOnly(invoices), 'filter customer_id': 'ignored' }, value: '3' },
    ],
    proves: [{ row: { lacks: lacked('date 2025-01-01..', 'id 5..8') } }],
    provesNothing: [
      { row: { lacks: lacked('id 1..9') }, list: since(9) },
      { row: { lacks: lacked('date 2025-01-01..', 'id 5..8'), unread: true } },
    ],
  },
  {
    list: /^any other list, and an invoice that belongs to no customer$/,
    proof: /every slice of the list was read again/,
    cases: [
      { job: transactions, traits: { order: 'id-desc' } },
      { job: transactions, traits: { ...IN_PLACE, 'not ordered by': 'account_id,amount' } },
      { job: products, traits: { ...byIdOnly(products), paging: 'until empty', limit: 'ignored' } },
      { job: invoices, traits: {} },
    ],
    proves: [{ row: { lacks: lacked('date 2025-01-01..') }, list: since(2) }],
    provesNothing: [
      { row: { lacks: lacked('date 2025-01-01..', 'date 2025-01-01..') } },
      { row: { lacks: lacked('date 2025-01-01..') }, list: since(1) },
    ],
  },
  {
    list: /^rows without an id/,
    proof: /^at once/,
    cases: [
      { job: transactions, traits: { ids: 'no' }, key: '#a1/1' },
      { job: products, traits: { ids: 'no', paging: 'ignored' }, key: '#a1/1' },
    ],
    proves: [{ row: { lacks: lacked('whole') } }],
    provesNothing: [{ row: { lacks: [] }, list: since(9) }],
  },
];

test('docs/coverage.md has one line for each way to prove a deletion, and no others', () => {
  expect(table).toHaveLength(LINES.length);
  for (const [index, { list, proof }] of LINES.entries()) {
    expect(table?.[index]?.list).toMatch(list);
    expect(table?.[index]?.proof).toMatch(proof);
  }
});

test.each(LINES)('the line $list describes what the code does', ({ cases, proves, provesNothing }) => {
  for (const { job, traits, key = '7', value = null } of cases) {
    const profile = profileOf(Object.entries(traits).map(([trait, value]) => ({ trait, value })));
    const strategy = strategyFor(profile, job);
    const judge = (claims: { row: Partial<RowClaims>; list?: ListClaims }) =>
      isDeleted(row({ key, value, ...claims.row }), claims.list ?? UNCOVERED, strategy);
    for (const claims of proves) expect([traits, judge(claims)]).toEqual([traits, true]);
    for (const claims of provesNothing) expect([traits, judge(claims)]).toEqual([traits, false]);
  }
});
