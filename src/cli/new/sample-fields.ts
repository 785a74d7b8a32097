import { isObject } from '../../source/answers/json.ts';
import { BadValue, dateText, decimalText, integerText, stampText } from '../../source/answers/values.ts';

export type FieldType = 'integer' | 'decimal' | 'date' | 'timestamp' | 'text';

export interface SampledField {
  readonly name: string;
  readonly type: FieldType;
}

interface Sample {
  readonly fields: readonly SampledField[];
  /** Fields that hold lists or objects: they are kept in `_extra`. */
  readonly nested: readonly string[];
  /** Names that no column can have. */
  readonly odd: readonly string[];
}

const PLAIN = /^[a-z_][a-z0-9_]{0,62}$/;
const DIGITS = /^-?\d/;

/** The fields of these rows, in the order in which they first appear, each with the narrowest type that holds all its values. */
export function sampleFields(rows: readonly unknown[]): Sample {
  const values = new Map<string, unknown[]>();
  for (const row of rows)
    if (isObject(row))
      for (const [name, value] of Object.entries(row)) values.set(name, [...(values.get(name) ?? []), value]);
  const named = [...values].filter(([name]) => PLAIN.test(name) && !name.startsWith('_'));
  const isNested = (all: readonly unknown[]) => all.some(value => typeof value === 'object' && value !== null);
  return {
    fields: named.filter(([, all]) => !isNested(all)).map(([name, all]) => ({ name, type: typeOf(all) })),
    nested: named.filter(([, all]) => isNested(all)).map(([name]) => name),
    odd: [...values.keys()].filter(name => !PLAIN.test(name) || name.startsWith('_')),
  };
}

function typeOf(values: readonly unknown[]): FieldType {
  const known = values.filter(value => value !== null && value !== '');
  const all = (holds: (value: unknown) => boolean) => known.length > 0 && known.every(holds);
  // A phone number or a postal code such as 01234 is text.
  const isNumber = (value: unknown) =>
    typeof value === 'number' || (typeof value === 'string' && !/^[+-]?0\d|^\+/.test(value));
  if (all(value => isNumber(value) && reads(integerText, value))) return 'integer';
  if (all(value => isNumber(value) && reads(decimalText, value))) return 'decimal';
  if (all(value => typeof value === 'string' && value.length === 10 && reads(dateText, value))) return 'date';
  if (all(value => typeof value === 'string' && DIGITS.test(value) && value.length > 10 && reads(stampText, value)))
    return 'timestamp';
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
