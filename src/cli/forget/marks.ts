import { isObject } from '../../source/answers/json.ts';

const EMAIL = /^[^\s@]+@[^\s@]+$/;
const PHONE_FIELD = /phone|mobile|fax/i;
const NAME_FIELD = /^(?:account|name|full_?name|display_?name|company)$/i;
/** A shorter text may stand in other people's records and in messages of ours. */
const SHORTEST = 5;

/** The values of a record by which a person is recognised elsewhere: e-mail addresses and phone numbers, and names. */
export interface Marks {
  readonly contacts: readonly string[];
  readonly names: readonly string[];
}

/** From all versions of a record, as JSON or as text that holds JSON. */
export function marksOf(copies: readonly unknown[]): Marks {
  const contacts = new Set<string>();
  const names = new Set<string>();
  const collect = (value: unknown, field: string): void => {
    if (Array.isArray(value)) for (const item of value) collect(item, field);
    else if (isObject(value)) for (const [name, item] of Object.entries(value)) collect(item, name);
    else if (typeof value === 'string' && value.trim().length >= SHORTEST) {
      const text = value.trim();
      if (EMAIL.test(text) || (PHONE_FIELD.test(field) && /\d{3}/.test(text))) contacts.add(text);
      else if (NAME_FIELD.test(field)) names.add(text);
    }
  };
  for (const copy of copies) collect(typeof copy === 'string' ? parsed(copy) : copy, '');
  return { contacts: [...contacts], names: [...names] };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}
