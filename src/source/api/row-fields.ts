import { z } from 'zod';
import { checked, field } from '../answers/field.ts';
import { asList } from '../answers/list.ts';
import { BadValue, dateText, decimalText, integerText, kindOf, stampText } from '../answers/values.ts';

/**
 * The field types of rows. Sources write the same value as a number or as text, and an empty value as null, `""` or `0000-00-00`: here a
 * value is its exact text, and an empty value is null. An absent field stays absent, and undocumented fields are kept as the source sent them.
 */

/** Text; a number or a boolean is converted to text. */
export const text = () => field(anyText);
/** Exact decimal text without trailing zeros, e.g. `1500.5`. */
export const decimal = () => field(decimalText);
/** A whole number as text, e.g. `17`, because an id may have more digits than a number holds. */
export const id = () => field(integerText);
/** An id that every row has. */
export const ownId = () => z.unknown().transform((value, context) => checked(value, context, ownIdText));
/** `YYYY-MM-DD` as the source sent it, whatever the zone. */
export const date = () => field(dateText);
/** An ISO 8601 time stamp as the source sent it; without a zone it is in the source's own. */
export const stamp = () => field(stampText);
/** A list of records. */
export const list = <S extends z.ZodType>(record: S) =>
  z
    .preprocess(value => (value === '' ? null : asList(value)), z.array(record, 'expected a list').nullable())
    .optional();

function anyText(value: unknown): string | null {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'number') return decimalText(value);
  if (typeof value === 'boolean') return String(value);
  throw new BadValue(`expected text, got ${kindOf(value)}`);
}

function ownIdText(value: unknown): string {
  const whole = value === undefined ? null : integerText(value);
  if (whole === null) throw new BadValue('expected an id');
  return whole;
}
