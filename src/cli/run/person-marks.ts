import type { Job } from '../../engine/job.ts';
import { jsonIn } from '../../source/answers/envelope.ts';
import { isObject } from '../../source/answers/json.ts';

const EMAIL = /^[^\s@]+@[^\s@]+$/;
const PHONE_FIELD = /phone|mobile|fax/i;
const NAME_FIELD = /^(?:account|name|full_?name|display_?name|company)$/i;
/** A shorter text may stand in other people's records and in messages of ours. */
export const SHORTEST_MARK = 5;

/**
 * The values by which a person is recognised elsewhere: e-mail addresses and phone numbers, and names. `copies`: all versions of a
 * record, as JSON or as text that holds JSON.
 */
export function marksOf(copies: readonly unknown[]) {
  const contacts = new Set<string>();
  const names = new Set<string>();
  const collect = (value: unknown, field: string): void => {
    if (Array.isArray(value)) for (const item of value) collect(item, field);
    else if (isObject(value)) for (const [name, item] of Object.entries(value)) collect(item, name);
    else if (typeof value === 'string' && value.trim().length >= SHORTEST_MARK) {
      const text = value.trim();
      if (EMAIL.test(text) || (PHONE_FIELD.test(field) && /\d{3}/.test(text))) contacts.add(text);
      else if (NAME_FIELD.test(field)) names.add(text);
    }
  };
  for (const copy of copies) collect(typeof copy === 'string' ? jsonIn(copy) : copy, '');
  return { contacts: [...contacts], names: [...names] };
}

export type Marks = ReturnType<typeof marksOf>;

/** The masked fields of a list whose values would be marks. */
export const maskedMarks = ({ masks }: Pick<Job, 'masks'>): string[] =>
  Object.keys(masks).filter(field => /mail/i.test(field) || PHONE_FIELD.test(field) || NAME_FIELD.test(field));
