import fc from 'fast-check';
import { expect, test } from 'vitest';
import { keySet } from '../../../src/source/paging/key-set.ts';

test('each version keeps its own keys in order, whichever version grows', () => {
  const keys = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), { maxLength: 4 });
  fc.assert(
    fc.property(fc.array(fc.record({ of: fc.nat(), keys }), { maxLength: 12 }), steps => {
      const versions = [{ set: keySet(), expected: [] as string[] }];
      for (const step of steps) {
        const { set, expected } = versions[step.of % versions.length] as (typeof versions)[number];
        versions.push({ set: set.with(step.keys), expected: [...new Set([...expected, ...step.keys])] });
      }
      for (const { set, expected } of versions) {
        expect([...set]).toEqual(expected);
        expect(set.size).toBe(expected.length);
        expect(['a', 'b', 'c', 'd', 'e', 'f'].filter(key => set.has(key))).toEqual([...expected].sort());
      }
    }),
    { numRuns: 1000 },
  );
});
