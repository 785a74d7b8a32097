import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type EqualRows, NO_EQUALS, takeEquals } from '../../../src/engine/read/answer/equal-rows.ts';
import { contentOf, ordinalOf } from '../../../src/source/paging/row-key.ts';
import type { Row } from '../../../src/warehouse/rows/write/row.ts';

/** A row at the source: what the job declares of it, and an unknown field. */
type Given = readonly [content: string, extra: string];

const rowOf = (key: string, extra: string): Row => ({ key, values: {}, children: {}, extra, hash: null, readAt: '' });

/** Reads the pages in turn as often as `passes` says, and writes what comes of it to the stored rows. Returns how many were replaced. */
function read(
  stored: Map<string, string>,
  passes: readonly (readonly (readonly Given[])[])[],
  isWindow: boolean,
): number {
  let equals: EqualRows = NO_EQUALS;
  let replaced = 0;
  for (const [nth, pages] of passes.entries()) {
    const seen = new Set<string>();
    for (const [index, page] of pages.entries()) {
      const here = new Map<string, string[]>();
      for (const [content, extra] of page) here.set(content, [...(here.get(content) ?? []), extra]);
      const rows: Row[] = [];
      for (const [content, extras] of here)
        for (const extra of extras.sort()) {
          let ordinal = 1;
          while (seen.has(`#${content}/${ordinal}`)) ordinal++;
          seen.add(`#${content}/${ordinal}`);
          rows.push(rowOf(`#${content}/${ordinal}`, extra));
        }
      const isLast = index === pages.length - 1;
      const isEnd = isLast && nth === passes.length - 1;
      const taken = takeEquals(equals, rows, {
        alone: nth > 0 || isWindow ? 'sure' : index === 0 ? 'open' : 'first pass',
        passed: isLast && !isEnd ? seen : null,
        end: isEnd ? 'complete' : null,
      });
      equals = taken.equals;
      for (const { key, extra, onlyIfNew } of taken.written) {
        const before = stored.get(key);
        if (before !== undefined && (onlyIfNew || before === extra)) continue;
        if (before !== undefined) replaced++;
        stored.set(key, extra ?? '');
      }
    }
  }
  return replaced;
}

const content = fc.constantFrom('a', 'b', 'c');
const given = fc.array(fc.tuple(content, fc.constantFrom('1', '2', '3')), { minLength: 1, maxLength: 12 });
const pagesOf = (rows: readonly Given[], size: number, order: number): Given[][] => {
  // Another order each time, as of a list without one.
  const shuffled = rows.map((row, index) => [((index + 1) * (order + 7)) % 31, row] as const).sort(([a], [b]) => a - b);
  const pages: Given[][] = [];
  for (let from = 0; from < rows.length; from += size)
    pages.push(shuffled.slice(from, from + size).map(([, row]) => row));
  return pages;
};
const texts = (rows: Iterable<Given>) => [...rows].map(([key, extra]) => `${key} ${extra}`).sort();
const storedTexts = (stored: Map<string, string>, rows: readonly Given[]) => {
  const counts = new Map<string, number>();
  for (const [key] of rows) counts.set(key, (counts.get(key) ?? 0) + 1);
  // What the list lacks is deleted.
  return texts(
    [...stored].flatMap(([key, extra]): Given[] =>
      ordinalOf(key) <= (counts.get(contentOf(key).slice(1)) ?? 0) ? [[contentOf(key).slice(1), extra]] : [],
    ),
  );
};

test('a complete reading leaves the rows of the list, whatever was stored and in whatever order they come, and the next replaces none', () => {
  fc.assert(
    fc.property(given, given, fc.integer({ min: 1, max: 13 }), fc.nat(20), (before, rows, size, order) => {
      const stored = new Map<string, string>();
      const isOnePage = rows.length <= size;
      const passes = (of: readonly Given[], from: number) =>
        of.length <= size ? [pagesOf(of, size, from)] : [pagesOf(of, size, from), pagesOf(of, size, from + 1)];
      read(stored, passes(before, order), false);
      expect(storedTexts(stored, before)).toEqual(texts(before));
      read(stored, passes(rows, order + 3), false);
      expect(storedTexts(stored, rows)).toEqual(texts(rows));
      expect(read(stored, passes(rows, order + 5), false)).toBe(0);
      expect(read(stored, [[rows]], isOnePage)).toBe(0);
    }),
    { numRuns: 2000 },
  );
});

test('a reading that does not complete replaces nothing, and adds what it is sure of', () => {
  const { written } = takeEquals(NO_EQUALS, [rowOf('#a/1', '9'), rowOf('#b/1', '2'), rowOf('#b/2', '3')], {
    ...{ alone: 'first pass', passed: null, end: 'otherwise' },
  });
  expect(written.map(({ key, onlyIfNew }) => [key, onlyIfNew])).toEqual(
    ['#a/1', '#b/1', '#b/2'].map(key => [key, true]),
  );
});
