import { isSecretName } from '../../../src/engine/records/secret-names.ts';
import {
  type Candidates,
  combineLists,
  type Finding,
  observed,
  undetermined,
  unrecognized,
} from '../findings/finding.ts';
import { fieldsOf } from '../lists/cells.ts';
import { type ListName, shapeOf, UNDOCUMENTED_LISTS } from '../lists/documented-lists.ts';
import type { ListReading, ListReadings } from '../lists/read-lists.ts';
import { holdsSecrets } from './check-secrets.ts';

/** Fields that lists are known to omit. */
const BARE: Partial<Record<ListName, { point: string; fields: string }>> = {
  customers: { point: 'customer-fields', fields: 'created_at, updated_at' },
  invoices: { point: 'invoice-fields', fields: 'date, notes' },
};
const NO_ID = 'not: rows of this list are stored by their id';

/** Checks which fields rows have: documented ones, ids, and others. */
export function checkFields(lists: ListReadings): Finding[] {
  const filled = lists.offered.filter(({ rows }) => rows.length > 0);
  const of = (name: ListName) => filled.find(reading => reading.name === name);
  const others = filled.filter(({ name }) => !['customers', 'invoices', 'transactions'].includes(name));
  return [
    documented('customers', of('customers')),
    documented('invoices', of('invoices')),
    ...combineLists('transaction-ids', filled.filter(({ name }) => name === 'transactions').map(hasIds)),
    ...combineLists('other-ids', others.filter(({ name }) => !UNDOCUMENTED_LISTS.includes(name)).map(hasIds)),
    ...others.filter(({ name }) => UNDOCUMENTED_LISTS.includes(name)).flatMap(checkOpaqueList),
    ...others.flatMap(missingFields),
    ...filled.filter(({ name }) => name === 'transactions').flatMap(missingFields),
    extraFields(filled),
  ];
}

function documented(name: 'customers' | 'invoices', reading: ListReading | undefined): Finding {
  const bare = BARE[name] as { point: string; fields: string };
  if (!reading) return undetermined(bare.point, `there are no ${name}`);
  const missingNames = fieldsMissingFrom(reading);
  if (missingNames.includes('id')) return unrecognized(bare.point, 'rows have no id', NO_ID);
  if (missingNames.length === 0)
    return observed(bare.point, 'full', `${reading.rows.length} rows have all documented fields`);
  const evidence = `none of ${reading.rows.length} rows has ${missingNames.join(', ')}`;
  return missingNames.join(', ') === bare.fields
    ? observed(bare.point, 'bare', evidence)
    : unrecognized(bare.point, evidence, 'yes');
}

function fieldsMissingFrom({ name, rows }: ListReading): string[] {
  const present = fieldsOf(rows);
  return Object.keys(shapeOf(name).fields).filter(field => !present.has(field));
}

function hasIds({ name, rows }: ListReading): Candidates {
  const count = rows.filter(row => row.id !== undefined && row.id !== null).length;
  const evidence = `${count} of ${rows.length} rows have an id`;
  // If only some rows have an id, no single key identifies them all.
  const values = count === rows.length ? ['yes'] : count === 0 ? ['no'] : [];
  return {
    list: name,
    values,
    evidence,
    handled: values.length > 0 ? 'yes' : 'not: some rows have an id and others do not',
  };
}

/** For lists whose fields are not documented. */
function checkOpaqueList(reading: ListReading): Finding[] {
  const { values, evidence } = hasIds(reading);
  return values.includes('yes') ? [] : [{ ...unrecognized('other-ids', evidence, 'yes'), lists: [reading.name] }];
}

function missingFields(reading: ListReading): Finding[] {
  const missingNames = fieldsMissingFrom(reading);
  if (missingNames.length === 0) return [];
  const evidence = `none of ${reading.rows.length} rows has ${missingNames.join(', ')}`;
  return [{ ...unrecognized('fields', evidence, 'yes'), lists: [reading.name] }];
}

function extraFields(filled: readonly ListReading[]): Finding {
  const known = filled.filter(({ name }) => !UNDOCUMENTED_LISTS.includes(name));
  if (known.length === 0) return undetermined('extra-fields', 'no list has rows');
  const found = known.flatMap(({ name, rows }) => {
    const documentedFields = new Set(['id', ...Object.keys(shapeOf(name).fields)]);
    return [...fieldsOf(rows)]
      .filter(
        field => !documentedFields.has(field) && !isSecretName(field) && !rows.some(row => holdsSecrets(row[field])),
      )
      .map(field => `${name}.${field}`);
  });
  if (found.length === 0) return observed('extra-fields', 'no', 'no row has an undocumented field');
  const named = found.slice(0, 6).join(', ');
  return observed('extra-fields', 'yes', found.length > 6 ? `${named} and ${found.length - 6} more` : named);
}
