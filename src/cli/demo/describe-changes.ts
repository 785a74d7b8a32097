import type { Change } from '../../../sandbox/changes/main-changes.ts';

const WORDS: Readonly<Record<string, string>> = { backdated: 'new with an old date', moved: 'moved to another date' };

/** One line per resource, e.g. `invoices: 3 new, 2 paid, 1 deleted`. */
export function describeChanges(changes: readonly Change[]): string[] {
  const all = new Map<string, Map<string, number>>();
  for (const { resource, kind } of changes) {
    const what = kind.slice(kind.indexOf('-') + 1);
    const kinds = all.get(resource) ?? new Map<string, number>();
    all.set(resource, kinds.set(what, (kinds.get(what) ?? 0) + 1));
  }
  return [...all].map(
    ([resource, kinds]) =>
      `${resource}: ${[...kinds].map(([what, times]) => `${times} ${WORDS[what] ?? what}`).join(', ')}`,
  );
}
