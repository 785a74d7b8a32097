import { hash } from 'node:crypto';
import { jsonText } from '../engine/records/storable-text.ts';
import { fieldProblems } from '../source/api/field-problems.ts';
import type { PushTarget } from './targets.ts';

/** One line of a file as it was read; `line` counts from 1, and is the first where it spans several. */
export type RawLine =
  | { readonly line: number; readonly value: unknown }
  | { readonly line: number; readonly problem: string };

export interface Problem {
  readonly line: number;
  readonly reason: string;
}

/** A line that can be sent. `hash` and `ordinal` are its name in the log: equal lines of one file are told apart by counting. */
export interface Line {
  readonly line: number;
  readonly hash: string;
  readonly ordinal: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Checks every line against what can be sent, and goes on after a bad one. */
export async function checkLines(
  target: PushTarget,
  raw: AsyncIterable<RawLine>,
): Promise<{ lines: Line[]; problems: Problem[] }> {
  const lines: Line[] = [];
  const problems: Problem[] = [];
  const counted = new Map<string, number>();
  for await (const each of raw) {
    const { line } = each;
    if ('problem' in each) {
      problems.push({ line, reason: each.problem });
      continue;
    }
    const parsed = target.body.safeParse(withoutNulls(each.value));
    if (!parsed.success) {
      const told = Object.entries(fieldProblems(parsed.error));
      problems.push({ line, reason: told.map(([field, wrong]) => said(field, wrong)).join('; ') });
      continue;
    }
    const unclean = Object.entries(parsed.data).filter(([, value]) => jsonText(value).cleaned > 0);
    if (unclean.length > 0) {
      problems.push({ line, reason: unclean.map(([field]) => said(field, UNSTORABLE)).join('; ') });
      continue;
    }
    const digest = hash('sha256', JSON.stringify(sorted(parsed.data))).slice(0, 32);
    const ordinal = (counted.get(digest) ?? 0) + 1;
    counted.set(digest, ordinal);
    lines.push({ line, hash: digest, ordinal, body: parsed.data });
  }
  return { lines, problems };
}

/** The log of what is sent could not hold the line, nor the warehouse what it creates. */
const UNSTORABLE = 'holds a character that no database stores: U+0000, or half of a surrogate pair';

const said = (field: string, wrong: string): string => `${field === 'body' ? 'the line' : field} ${wrong}`;

/** `null` in a file means none, as a field that is left out does. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(kept.map(([name, inner]) => [name, withoutNulls(inner)]));
}

/** The order in which a file names the fields tells nothing. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, inner]) => [name, sorted(inner)]));
}
