import { parseJson } from '../../source/answers/json.ts';
import { isSecretName, plainName } from './secret-names.ts';

/** The fields that a job declares: they are stored, whatever their names. */
export interface DeclaredFields {
  readonly own: ReadonlySet<string>;
  /** Those of the items of a field that is a list of records. */
  readonly items: ReadonlyMap<string, ReadonlySet<string>>;
}

/** The value without such fields at any depth, also inside text that is JSON; the same value where there are none. */
type DropSecrets = (value: unknown) => unknown;

const NONE: ReadonlySet<string> = new Set();
const NO_ITEMS: DeclaredFields['items'] = new Map();
const INDEX = /^\d+$/;
/** Names can be data, as in `{"2026-01-15": ..}`: what is remembered of them must not grow with the source. */
const MOST_NAMES = 5000;
const LONGEST_NAME = 100;

/** Drops fields whose names say that they hold a secret, and those named by `never`, from everything that will be stored. */
export function createSecretFilter(never: readonly string[], declared: DeclaredFields): DropSecrets {
  const isDropped = createVerdicts(never);

  function drop(value: unknown, own: ReadonlySet<string>, items: DeclaredFields['items']): unknown {
    if (typeof value === 'string') return mayBeJson(value) ? dropInText(value) : value;
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) {
      let copy: unknown[] | undefined;
      for (let index = 0; index < value.length; index++) {
        const kept = drop(value[index], own, items);
        if (kept === value[index]) continue;
        copy ??= [...value];
        copy[index] = kept;
      }
      return copy ?? value;
    }
    return dropInObject(value as Record<string, unknown>, own, items);
  }

  function dropInObject(record: Record<string, unknown>, own: ReadonlySet<string>, items: DeclaredFields['items']) {
    // Most records hold nothing to drop: they are not copied.
    let changed: Map<string, unknown> | undefined;
    for (const name in record) {
      if (isDropped(name) && !own.has(name)) {
        changed ??= new Map();
        changed.set(name, undefined);
        continue;
      }
      const item = record[name];
      if (typeof item !== 'object' && (typeof item !== 'string' || !mayBeJson(item))) continue;
      // A list may be written as an object whose names are positions.
      const kept = drop(item, items.get(name) ?? (INDEX.test(name) ? own : NONE), NO_ITEMS);
      if (kept === item) continue;
      changed ??= new Map();
      changed.set(name, kept);
    }
    return changed === undefined ? record : withChanges(record, changed);
  }

  function dropInText(text: string): string {
    let value: unknown;
    try {
      value = parseJson(text);
    } catch {
      return text;
    }
    const kept = drop(value, NONE, NO_ITEMS);
    return kept === value ? text : JSON.stringify(kept);
  }

  return value => drop(value, declared.own, declared.items);
}

/** Judges names, and remembers the verdicts. */
function createVerdicts(never: readonly string[]): (name: string) => boolean {
  const named = new Set(never.map(plainName));
  const verdicts = new Map<string, boolean>();
  return name => {
    const known = verdicts.get(name);
    if (known !== undefined) return known;
    const verdict = isSecretName(name) || named.has(plainName(name));
    if (verdicts.size >= MOST_NAMES) verdicts.clear();
    if (name.length <= LONGEST_NAME) verdicts.set(name, verdict);
    return verdict;
  };
}

/** A copy with other values; undefined drops the field. */
function withChanges(record: Record<string, unknown>, changed: ReadonlyMap<string, unknown>): Record<string, unknown> {
  const entries = Object.entries(record).flatMap(([name, item]): [string, unknown][] => {
    if (!changed.has(name)) return [[name, item]];
    const kept = changed.get(name);
    return kept === undefined ? [] : [[name, kept]];
  });
  return Object.fromEntries(entries);
}

/** Begins like an object or a list, after blanks or a byte order mark. */
function mayBeJson(text: string): boolean {
  const first = text.charCodeAt(0);
  if (first === 123 || first === 91) return true;
  return (first <= 32 || first === 0xfeff) && /^[\s\ufeff]*[{[]/.test(text);
}
