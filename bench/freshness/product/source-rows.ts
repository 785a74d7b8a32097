import { dateOf, stampOf } from '../../../sandbox/data/calendar.ts';
import type { Data } from '../../../sandbox/data/data.ts';
import type { Rows as RowTypes } from '../../../sandbox/data/rows.ts';
import { DAY, SECOND } from '../../../src/clock.ts';
import { LISTS, type List } from '../parameters.ts';
import { NEWEST, OLDEST } from '../policy.ts';
import { dayOfKey } from '../stream/rows.ts';
import type { Change, Stream } from '../stream/stream.ts';

/** Stands in a text field of each changed row, followed by the number of its latest change. */
export const MARK = 'change ';

/** The field that holds the mark. */
export const MARKED: Readonly<Record<List, string>> = {
  customers: 'address',
  invoices: 'notes',
  transactions: 'description',
};

/** Fills the empty tables of a sandbox with the initial rows of a stream, whose ids ascend with their dates. Not through its edits: those keep a minute of history. */
export function fillSource(data: Data, { rows, open }: Stream): void {
  for (const list of LISTS)
    for (const id of rows[list].between(OLDEST, NEWEST, Number.POSITIVE_INFINITY))
      insert(data, list, { id, day: rows[list].dayOf(id), isOpen: open.has(id), mark: null });
}

/** Makes one change of the stream at the source. */
export function applyChange(data: Data, { list, kind, id, place, number, at }: Change): void {
  const mark = `${MARK}${number}`;
  const day = dayOfKey(place);
  const seconds = Math.floor(at / SECOND);
  switch (kind) {
    case 'new':
    case 'back-dated':
      insert(data, list, { id, day, isOpen: true, mark });
      return;
    case 'deleted':
      data[list].remove(id);
      return;
    case 'paid':
      data.invoices.update(id, { status: 'Paid', notes: mark }, seconds);
      return;
    case 'moved':
      if (list === 'invoices') data.invoices.update(id, { date: dateOf(day), notes: mark }, seconds);
      else data.transactions.update(id, { date: dateOf(day), description: mark }, seconds);
      return;
    case 'edited':
      if (list === 'customers') data.customers.update(id, { address: mark, updated_at: stampOf(seconds) }, seconds);
      else if (list === 'invoices') data.invoices.update(id, { ...billOf(id + number), notes: mark }, seconds);
      else data.transactions.update(id, { amount: amountOf(id + number), description: mark }, seconds);
      return;
  }
}

interface NewRow {
  readonly id: number;
  readonly day: number;
  readonly isOpen: boolean;
  readonly mark: string | null;
}

function insert(data: Data, list: List, { id, day, isOpen, mark }: NewRow): void {
  const seconds = (day * DAY) / SECOND;
  const created = makers[list]({ id, day, isOpen, mark }, data);
  const inserted = data[list].insert(created as never, seconds);
  if (inserted.id !== id) throw new RangeError(`${list} ${id} became ${inserted.id}`);
}

const makers: { readonly [L in List]: (row: NewRow, data: Data) => Omit<RowTypes[L], 'id'> } = {
  customers: ({ id, day, mark }) => ({
    account: `Customer ${id}`,
    email: `contact${id}@example.com`,
    phone: null,
    address: mark,
    city: null,
    state: null,
    zip: null,
    country: null,
    created_at: stampOf((day * DAY) / SECOND),
    updated_at: stampOf((day * DAY) / SECOND),
  }),
  invoices: ({ id, day, isOpen, mark }, data) => ({
    invoice_number: `INV-${id}`,
    customer_id: 1 + (id % Math.max(data.customers.length, 1)),
    date: dateOf(day),
    due_date: dateOf(day + 30),
    status: isOpen ? 'Unpaid' : 'Paid',
    ...billOf(id),
    notes: mark,
  }),
  transactions: ({ id, day, mark }) => ({
    type: id % 2 === 0 ? 'Income' : 'Expense',
    account_id: 1 + (id % 12),
    category_id: 1 + (id % 40),
    amount: amountOf(id),
    description: mark,
    date: dateOf(day),
  }),
};

const amountOf = (number: number): number => ((number * 7919) % 500_000) / 100 + 0.01;

const billOf = (number: number) => {
  const amount = amountOf(number);
  return { amount, items: [{ description: 'Work', amount, qty: 1 }] };
};
