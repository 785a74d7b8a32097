import type { Data } from '../../sandbox/data/data.ts';
import type { List } from '../freshness/parameters.ts';
import { MARKED } from '../freshness/product/source-rows.ts';

/** The values of a row that are compared, as texts in the order of `COMPARED`. */
export type Values = readonly (string | null)[];

/** The columns that are compared; the first is the id. Any change of the stream shows in one of them. */
export const COMPARED: Readonly<Record<List, readonly string[]>> = {
  customers: ['id', MARKED.customers],
  invoices: ['id', 'customer_id', 'date', 'status', 'amount', MARKED.invoices],
  transactions: ['id', 'date', 'amount', MARKED.transactions],
};

interface Version {
  /** When it came about (epoch ms). */
  readonly since: number;
  /** Null where the row did not exist. */
  readonly values: Values | null;
}

/** The source's log of changes: what each row was, and when. */
export interface RowHistory {
  /** Makes a change of this row. */
  record(list: List, id: number, change: () => void): void;
  /** What the row was at any moment from `from` to `to`; null among them if it did not exist at some moment. */
  during(list: List, id: number, from: number, to: number): (Values | null)[];
}

export function createRowHistory(data: Data): RowHistory {
  const versions = new Map<string, Version[]>();
  const current = (list: List, id: number) => valuesOf(list, data[list].get(id));
  return {
    record(list, id, change) {
      const key = `${list} ${id}`;
      const known = versions.get(key) ?? [{ since: Number.NEGATIVE_INFINITY, values: current(list, id) }];
      change();
      versions.set(key, [...known, { since: Date.now(), values: current(list, id) }]);
    },
    during(list, id, from, to) {
      const known = versions.get(`${list} ${id}`);
      if (known === undefined) return [current(list, id)];
      return known
        .filter(({ since }, place) => since <= to && (known[place + 1]?.since ?? Number.POSITIVE_INFINITY) >= from)
        .map(({ values }) => values);
    },
  };
}

function valuesOf(list: List, row: object | undefined): Values | null {
  if (row === undefined) return null;
  const fields = row as Readonly<Record<string, unknown>>;
  return COMPARED[list].map(name => {
    const value = fields[name] ?? null;
    return value === null ? null : String(value);
  });
}
