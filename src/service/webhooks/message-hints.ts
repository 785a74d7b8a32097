import type { Job } from '../../engine/job.ts';

/** Deeper than any message of use; what lies below is not looked at. */
const MOST_DEPTH = 5;
const MOST_FIELDS = 1000;

/** One value of a message, under its own name, and under that with its object's in front: `{invoice: {id}}` is also `invoice_id`. */
interface Field {
  readonly names: readonly string[];
  readonly value: unknown;
}

/**
 * The slices that may have changed, as far as the message of a webhook tells: which event it is, and the key of the row. Nothing
 * else is read of it, and both only say where to look: a message that says nothing points to where the lists grow.
 */
export function hintsIn(
  message: string,
  jobs: ReadonlyMap<string, Pick<Job, 'events'>>,
): { resource: string; slice: string }[] {
  const fields = fieldsOf(parse(message));
  const known = new Set([...jobs.values()].flatMap(job => Object.keys(job.events)));
  const named = new Set(
    fields.map(field => field.value).filter(value => typeof value === 'string' && known.has(value)),
  );
  const hints: { resource: string; slice: string }[] = [];
  for (const [resource, { events }] of jobs) {
    // Of what does not say which event it is, any may be true.
    const told = Object.entries(events).filter(([event]) => named.size === 0 || named.has(event));
    if (told.length === 0) continue;
    const key = [...new Set(told.flatMap(([, names]) => names))]
      .map(name => keyNamed(fields, name))
      .find(each => each !== null);
    hints.push({ resource, slice: key ? `one ${key}` : 'newest' });
  }
  return hints;
}

function keyNamed(fields: readonly Field[], name: string): string | null {
  for (const { names, value } of fields) {
    if (!names.includes(name)) continue;
    const text = typeof value === 'number' ? String(value) : typeof value === 'string' ? value.trim() : '';
    if (/^[1-9]\d{0,17}$/.test(text)) return text;
  }
  return null;
}

/** JSON, or fields as a form sends them. */
function parse(message: string): unknown {
  try {
    return JSON.parse(message);
  } catch {
    return /^[\w.%+~[\]-]+=/.test(message) ? Object.fromEntries(new URLSearchParams(message)) : null;
  }
}

function fieldsOf(message: unknown): Field[] {
  const fields: Field[] = [];
  const visit = (value: unknown, parent: string, depth: number) => {
    if (typeof value !== 'object' || value === null || depth > MOST_DEPTH) return;
    for (const [name, inner] of Object.entries(value)) {
      if (fields.length >= MOST_FIELDS) return;
      fields.push({ names: [name, `${parent}_${name}`], value: inner });
      visit(inner, name, depth + 1);
    }
  };
  visit(message, '', 0);
  return fields;
}
