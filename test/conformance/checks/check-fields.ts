import { agree, type Candidates, type Finding, strange, told, untold } from '../findings/finding.ts';
import { fieldsOf } from '../lists/cells.ts';
import { type ListName, shapeOf, UNSHOWN } from '../lists/documented-lists.ts';
import type { Lists, Seen } from '../lists/read-lists.ts';

/** What a list is known to leave out. */
const BARE: Partial<Record<ListName, { point: string; fields: string }>> = {
  customers: { point: 'customer-fields', fields: 'created_at, updated_at' },
  invoices: { point: 'invoice-fields', fields: 'date, notes' },
};
const NO_ID = 'not: rows of this list are stored by their id';

/** Which fields rows have: the documented ones, ids, and others. */
export function judgeFields(lists: Lists): Finding[] {
  const filled = lists.offered.filter(({ rows }) => rows.length > 0);
  const of = (name: ListName) => filled.find(seen => seen.name === name);
  const others = filled.filter(({ name }) => !['customers', 'invoices', 'transactions'].includes(name));
  return [
    documented('customers', of('customers')),
    documented('invoices', of('invoices')),
    ...agree('transaction-ids', filled.filter(({ name }) => name === 'transactions').map(hasIds)),
    ...agree('other-ids', others.filter(({ name }) => !UNSHOWN.includes(name)).map(hasIds)),
    ...others.filter(({ name }) => UNSHOWN.includes(name)).flatMap(opaque),
    ...others.flatMap(missing),
    ...filled.filter(({ name }) => name === 'transactions').flatMap(missing),
    extra(filled),
  ];
}

function documented(name: 'customers' | 'invoices', seen: Seen | undefined): Finding {
  const bare = BARE[name] as { point: string; fields: string };
  if (!seen) return untold(bare.point, `there are no ${name}`);
  const lacking = lackedBy(seen);
  if (lacking.includes('id')) return strange(bare.point, `rows come without an id`, NO_ID);
  if (lacking.length === 0) return told(bare.point, 'full', `${seen.rows.length} rows have all documented fields`);
  const evidence = `none of ${seen.rows.length} rows has ${lacking.join(', ')}`;
  return lacking.join(', ') === bare.fields ? told(bare.point, 'bare', evidence) : strange(bare.point, evidence, 'yes');
}

function lackedBy({ name, rows }: Seen): string[] {
  const present = fieldsOf(rows);
  return Object.keys(shapeOf(name).fields).filter(field => !present.has(field));
}

function hasIds({ name, rows }: Seen): Candidates {
  const count = rows.filter(row => row.id !== undefined && row.id !== null).length;
  const evidence = `${count} of ${rows.length} rows have an id`;
  // Where only some have one, no single key would do.
  const values = count === rows.length ? ['yes'] : count === 0 ? ['no'] : [];
  return {
    list: name,
    values,
    evidence,
    handled: values.length > 0 ? 'yes' : 'not: some rows have an id and some have none',
  };
}

/** Lists of which nothing is documented. */
function opaque(seen: Seen): Finding[] {
  const { values, evidence } = hasIds(seen);
  return values.includes('yes') ? [] : [{ ...strange('other-ids', evidence, 'yes'), lists: [seen.name] }];
}

function missing(seen: Seen): Finding[] {
  const lacking = lackedBy(seen);
  if (lacking.length === 0) return [];
  const evidence = `none of ${seen.rows.length} rows has ${lacking.join(', ')}`;
  return [{ ...strange('fields', evidence, 'yes'), lists: [seen.name] }];
}

function extra(filled: readonly Seen[]): Finding {
  const known = filled.filter(({ name }) => !UNSHOWN.includes(name));
  if (known.length === 0) return untold('extra-fields', 'no list has a row');
  const found = known.flatMap(({ name, rows }) => {
    const documentedFields = new Set(['id', ...Object.keys(shapeOf(name).fields)]);
    return [...fieldsOf(rows)].filter(field => !documentedFields.has(field)).map(field => `${name}.${field}`);
  });
  if (found.length === 0) return told('extra-fields', 'no', 'no row has a field that is not documented');
  const named = found.slice(0, 6).join(', ');
  return told('extra-fields', 'yes', found.length > 6 ? `${named} and ${found.length - 6} more` : named);
}
