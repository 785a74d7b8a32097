import { type FieldType, isFieldName } from '../../config/list-files.ts';
import { isObject } from '../../source/answers/json.ts';
import { BadValue, dateText, decimalText, integerText, stampText } from '../../source/answers/values.ts';

const DIGITS = /^-?\d/;

/** The fields of these rows, in the order in which they first appear, each with the narrowest type that holds all its values. */
export function sampleFields(rows: readonly unknown[]) {
  const values = new Map<string, unknown[]>();
  for (const row of rows)
    if (isObject(row))
      for (const [name, value] of Object.entries(row)) {
        const found = values.get(name);
        if (found) found.push(value);
        else values.set(name, [value]);
      }
  const named = [...values].filter(([name]) => isFieldName(name));
  const typed = named.map(([name, all]) => ({ name, type: typeOf(all), values: all }));
  return {
    fields: typed.flatMap(({ type, ...field }) => (type === null ? [] : [{ ...field, type }])),
    // Fields that hold lists or objects: they are kept in `_extra`.
    nested: typed.flatMap(({ name, type }) => (type === null ? [name] : [])),
    // Names that no column can have.
    odd: [...values.keys()].filter(name => !isFieldName(name)),
  };
}

/** Null for lists and objects. */
function typeOf(values: readonly unknown[]): Exclude<FieldType, 'row'> | null {
  if (values.some(value => typeof value === 'object' && value !== null)) return null;
  const known = values.filter(value => value !== null && value !== '');
  // A phone number or a postal code such as 01234 is text.
  const isNumber = (value: unknown) =>
    typeof value === 'number' || (typeof value === 'string' && !/^[+-]?0\d|^\+/.test(value));
  const all = (holds: (value: unknown) => boolean, read: (value: unknown) => string | null) =>
    known.length > 0 && known.every(value => holds(value) && reads(read, value));
  if (all(isNumber, integerText)) return 'integer';
  if (all(isNumber, decimalText)) return 'decimal';
  if (all(value => typeof value === 'string' && value.length === 10, dateText)) return 'date';
  if (all(value => typeof value === 'string' && DIGITS.test(value) && value.length > 10, stampText)) return 'timestamp';
  return 'text';
}

function reads(read: (value: unknown) => string | null, value: unknown): boolean {
  try {
    return read(value) !== null;
  } catch (error) {
    if (error instanceof BadValue) return false;
    throw error;
  }
}
