import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Choice, isPause, type PlanFacts } from '../../../src/engine/agenda/choice.ts';
import { openTargets, plan } from '../../../src/engine/agenda/plan.ts';
import { partition, watched } from '../../../src/engine/coverage/list.ts';
import { contains } from '../../../src/engine/coverage/prove.ts';
import { overlap, sliceText } from '../../../src/engine/slices/slice.ts';
import { anyFacts, NOW, WHOLE } from './any-facts.ts';

/** The facts once the choice was read and added up. */
function afterReading(facts: PlanFacts, { slice, asks, metered }: Choice, at: number): PlanFacts {
  const { list, wish } = facts;
  const entries = new Map(list.entries);
  // What only measures proves nothing.
  const parts = asks === 'length' ? [] : [...partition(list), ...watched(list)];
  const read = parts.filter(entry => contains(slice, entry.slice));
  for (const entry of read) {
    const provenAt = entry.slice.by === list.strategy.partition && !wish.reportOnly ? at : entry.provenAt;
    entries.set(sliceText(entry.slice), { ...entry, provenAt, readAt: at, dueSince: null });
  }
  const done = new Set([...wish.state.done, sliceText(slice)]);
  if (wish.reportOnly) for (const entry of read) done.add(sliceText(entry.slice));
  const asked = new Set(wish.state.asked);
  if (typeof asks === 'object') asked.add(asks.row);
  const coverAsked = new Set(wish.state.coverAsked);
  if (asks === 'cover') coverAsked.add(sliceText(slice));
  const allowance = wish.state.allowance - (metered ? 1 : 0);
  const targets = openTargets(list, wish).slice(1);
  const state = { ...wish.state, done, asked, coverAsked, allowance, targets };
  return { ...facts, list: { ...list, entries }, wish: { ...wish, state } };
}

test('each generated task ends if its readings add up, and reads no more than the list holds', () => {
  fc.assert(
    fc.property(anyFacts, given => {
      let facts = given;
      const most = 3 * partition(given.list).length + watched(given.list).length + given.missing.length + 45;
      for (let reading = 1; ; reading++) {
        const next = plan(facts);
        if (typeof next === 'string' || isPause(next)) {
          if (next === 'blocked') expect([facts.wish.kind, facts.wish.state.readsAll]).toEqual(['sync', null]);
          return;
        }
        expect(reading).toBeLessThanOrEqual(most);
        facts = afterReading(facts, next, NOW + reading);
      }
    }),
    { numRuns: 500 },
  );
});

test('in generated cases, no chosen slice overlaps one being read', () => {
  fc.assert(
    fc.property(anyFacts, fc.nat(), (facts, pick) => {
      const parts = partition(facts.list);
      const reading = parts[pick % parts.length]?.slice ?? WHOLE;
      const next = plan({ ...facts, list: { ...facts.list, reading: new Set([reading]) } });
      if (typeof next !== 'string' && !isPause(next)) expect(overlap(next.slice, reading)).toBe(false);
      else expect(next).toBe('blocked');
    }),
    { numRuns: 1000 },
  );
});

test('in generated cases, planning does not change its input', () => {
  const plain = (facts: PlanFacts) =>
    JSON.stringify([...facts.list.entries.values(), facts.wish.state, facts.missing], (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value instanceof Set ? [...value] : value,
    );
  fc.assert(
    fc.property(anyFacts, facts => {
      const before = plain(facts);
      plan(facts);
      expect(plain(facts)).toBe(before);
    }),
    { numRuns: 1000 },
  );
});

test('in generated cases, a slot chooses only what is watched, never read or due, and where an id list grows', () => {
  fc.assert(
    fc.property(anyFacts, ({ wish, ...facts }) => {
      const next = plan({ ...facts, wish: { ...wish, kind: 'slot', reportOnly: false } });
      if (typeof next === 'string' || isPause(next)) return;
      const { slice, asks, metered } = next;
      // Values that were read before cost no more than the tick may spend on them.
      expect([asks, metered]).toEqual([undefined, slice.by === 'value']);
      const read = watched(facts.list).find(entry => sliceText(entry.slice) === sliceText(slice));
      if (read && slice.by === 'value')
        expect(read.readAt === null || read.requests <= wish.state.allowance).toBe(true);
      if (read) return;
      for (const entry of partition(facts.list).filter(part => contains(slice, part.slice))) {
        const isNewestEnd = entry.slice.by === 'id' && entry.slice.to === null;
        const isDue = entry.dueSince !== null && entry.dueSince > (entry.provenAt ?? 0) && entry.dueSince <= NOW;
        expect(entry.provenAt === null || isNewestEnd || isDue).toBe(true);
      }
    }),
    { numRuns: 1000 },
  );
});

test('a slot reads nothing twice: after its choice was read, it chooses something else or nothing', () => {
  fc.assert(
    fc.property(anyFacts, ({ wish, ...facts }) => {
      const before: PlanFacts = { ...facts, wish: { ...wish, kind: 'slot', reportOnly: false } };
      const next = plan(before);
      if (typeof next === 'string' || isPause(next)) return;
      const after = plan(afterReading(before, next, NOW + 1));
      if (typeof after === 'object' && !isPause(after)) expect(sliceText(after.slice)).not.toBe(sliceText(next.slice));
    }),
    { numRuns: 500 },
  );
});

test('hints read what they point to, in their order, and nothing else', () => {
  fc.assert(
    fc.property(anyFacts, ({ wish, ...facts }) => {
      if (wish.kind !== 'hint') return;
      const open = openTargets(facts.list, wish);
      const next = plan({ ...facts, wish });
      if (open.length === 0 || wish.state.allowance <= 0) expect(next).toBe('done');
      else expect(next).toMatchObject({ slice: open[0], metered: true });
    }),
    { numRuns: 1000 },
  );
});
