import type { Job } from '../../engine/job.ts';

/** Deeper than any useful message; anything below is ignored. */
const MOST_DEPTH = 5;
const MOST_FIELDS = 1000;

/** A slice that may have changed at the source. */
export interface ChangeHint {
  readonly resource: string;
  readonly slice: string;
}

/** One value of a message, under its own name and with its parent's name in front: `{invoice: {id}}` is also `invoice_id`. */
interface Field {
  readonly names: readonly string[];
  readonly value: unknown;
}

/**
 * The slices that may have changed according to a webhook. Only the event's name and the row's key are used, and only to choose
 * where to look; a message without them points to the newest end of each list.
 */
export function changeHintsIn(message: string, jobs: ReadonlyMap<string, Pick<Job, 'events'>>): ChangeHint[] {
  const fields = fieldsOf(parse(message));
  const known = new Set([...jobs.values()].flatMap(job => Object.keys(job.events)));
  const named = new Set(
    fields.map(field => field.value).filter(value => typeof value === 'string' && known.has(value)),
  );
  const hints: ChangeHint[] = [];
  for (const [resource, { events }] of jobs) {
    // Without a known event name, any event may be meant.
    const meant = Object.entries(events).filter(([event]) => named.size === 0 || named.has(event));
    if (meant.length === 0) continue;
    const key = [...new Set(meant.flatMap(([, names]) => names))]
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

/** A JSON message or form fields. */
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
