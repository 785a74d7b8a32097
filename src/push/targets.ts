import { hash } from 'node:crypto';
import type { z } from 'zod';
import { groupBy } from '../engine/group-by.ts';
import { jsonText } from '../engine/storable-text.ts';
import { endpoints } from '../source/api/endpoints.ts';
import { batchEntry, fieldProblems } from '../source/api/request-bodies.ts';

/** An endpoint that creates records of one kind. The job of the same name finds them again; without a job they cannot be found. */
export interface PushTarget {
  readonly path: string;
  /** The schema of one line. */
  readonly body: z.ZodObject;
  /** Fields any one of which makes it likely that a new row is the line, however much of the rest the source has rewritten. */
  readonly identifying: readonly string[];
  /** Fields that are lists: their cells in a CSV file hold JSON. */
  readonly lists: readonly string[];
  /** The batch endpoint for lines that hold no more fields than its entries. */
  readonly batch: {
    readonly path: string;
    readonly entry: z.ZodObject;
    readonly wrap: (entries: readonly unknown[]) => object;
  } | null;
}

const single = (
  { path, body }: { path: string; body: z.ZodObject },
  identifying: readonly string[],
  lists: readonly string[] = [],
): PushTarget => ({ path, body, identifying, lists, batch: null });

/** Everything that can be pushed. Users cannot: their passwords would be stored in a file and in the log. */
export const PUSH_TARGETS: Readonly<Record<string, PushTarget>> = {
  customers: {
    ...single(endpoints.customers, ['account', 'email', 'phone']),
    batch: { path: endpoints.customerBatch.path, entry: batchEntry, wrap: customers => ({ customers }) },
  },
  invoices: single(endpoints.invoices, ['customer_id'], ['items']),
  leads: single(endpoints.leads, []),
  products: single(endpoints.products, ['name']),
  quotes: single(endpoints.quotes, ['customer_id'], ['items']),
  tickets: single(endpoints.tickets, ['subject']),
  transactions: single(endpoints.transactions, []),
};

/** Groups lines into requests: those that a batch can hold by `batchSize`, all others one by one. */
export function groupRequests<Item extends { readonly body: unknown }>(
  target: PushTarget,
  items: readonly Item[],
  batchSize: number,
): { batch: boolean; items: Item[] }[] {
  const entry = batchSize > 1 ? target.batch?.entry : undefined;
  const groups = groupBy(items, ({ body }) => entry?.safeParse(body).success === true);
  const together = groups.get(true) ?? [];
  const batches = Array.from({ length: Math.ceil(together.length / batchSize) }, (_, index) => ({
    batch: true,
    items: together.slice(index * batchSize, (index + 1) * batchSize),
  }));
  return [...batches, ...(groups.get(false) ?? []).map(item => ({ batch: false, items: [item] }))];
}

/** One record of a file, or why it could not be read. `line` counts from 1; of a record that spans several lines it is the first. */
export type RawLine = { readonly line: number } & ({ readonly value: unknown } | { readonly problem: string });

export interface Problem {
  readonly line: number;
  readonly reason: string;
}

/** A line that can be sent. The log identifies it by `hash` and `ordinal`, which numbers the equal lines of one file from 1. */
export interface Line {
  readonly line: number;
  readonly hash: string;
  readonly ordinal: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Checks every line against the body of its target. An invalid line becomes a problem and does not stop the check. */
export function checkLines(target: PushTarget, raw: readonly RawLine[]): { lines: Line[]; problems: Problem[] } {
  const lines: Line[] = [];
  const problems: Problem[] = [];
  const seen = new Map<string, number>();
  for (const each of raw) {
    const { line } = each;
    const checked = 'problem' in each ? each : checkBody(target, each.value);
    if ('problem' in checked) {
      problems.push({ line, reason: checked.problem });
      continue;
    }
    // The order of fields in a file has no meaning.
    const ordered = mapFields(checked.body, fields => fields.sort(([a], [b]) => (a < b ? -1 : 1)));
    const digest = hash('sha256', JSON.stringify(ordered)).slice(0, 32);
    const ordinal = (seen.get(digest) ?? 0) + 1;
    seen.set(digest, ordinal);
    lines.push({ line, hash: digest, ordinal, body: checked.body });
  }
  return { lines, problems };
}

function checkBody(target: PushTarget, value: unknown): Pick<Line, 'body'> | { problem: string } {
  // `null` in a file means the same as an absent field.
  const parsed = target.body.safeParse(mapFields(value, fields => fields.filter(([, inner]) => inner !== null)));
  if (!parsed.success) {
    const fields = Object.entries(fieldProblems(parsed.error, Object.keys(target.body.shape)));
    return { problem: fields.map(([field, problem]) => worded(field, problem)).join('; ') };
  }
  const unstorable = Object.entries(parsed.data).filter(([, text]) => jsonText(text).cleaned > 0);
  if (unstorable.length === 0) return { body: parsed.data };
  return { problem: unstorable.map(([field]) => worded(field, UNSTORABLE)).join('; ') };
}

/** Neither the log of pushes nor the warehouse could store such text. */
const UNSTORABLE = 'holds a character that Postgres cannot store: U+0000, or half of a surrogate pair';

const worded = (field: string, problem: string): string => `${field === 'body' ? 'the line' : field} ${problem}`;

type Fields = [name: string, value: unknown][];

/** Rewrites the fields of each object in a value. */
function mapFields(value: unknown, rewrite: (fields: Fields) => Fields): unknown {
  if (Array.isArray(value)) return value.map(each => mapFields(each, rewrite));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(rewrite(Object.entries(value)).map(([name, inner]) => [name, mapFields(inner, rewrite)]));
}
