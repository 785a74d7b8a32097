import { hash } from 'node:crypto';
import { jsonText } from '../engine/storable-text.ts';
import { fieldProblems } from '../source/api/field-problems.ts';
import type { PushTarget } from './targets.ts';

/** One record of a file, or why it could not be read. `line` counts from 1; of a record that spans several lines it is the first. */
export type RawLine =
  | { readonly line: number; readonly value: unknown }
  | { readonly line: number; readonly problem: string };

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
export async function checkLines(
  target: PushTarget,
  raw: AsyncIterable<RawLine>,
): Promise<{ lines: Line[]; problems: Problem[] }> {
  const lines: Line[] = [];
  const problems: Problem[] = [];
  const seen = new Map<string, number>();
  for await (const each of raw) {
    const { line } = each;
    const checked = 'problem' in each ? each : checkBody(target, each.value);
    if ('problem' in checked) {
      problems.push({ line, reason: checked.problem });
      continue;
    }
    const digest = hash('sha256', JSON.stringify(sorted(checked.body))).slice(0, 32);
    const ordinal = (seen.get(digest) ?? 0) + 1;
    seen.set(digest, ordinal);
    lines.push({ line, hash: digest, ordinal, body: checked.body });
  }
  return { lines, problems };
}

function checkBody(target: PushTarget, value: unknown): Pick<Line, 'body'> | { problem: string } {
  const parsed = target.body.safeParse(withoutNulls(value));
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

/** `null` in a file means the same as an absent field. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(kept.map(([name, inner]) => [name, withoutNulls(inner)]));
}

/** The order of fields in a file has no meaning. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, inner]) => [name, sorted(inner)]));
}
