import fc from 'fast-check';
import { expect, test } from 'vitest';
import customers from '../../../jobs/customers.ts';
import products from '../../../jobs/products.ts';
import { HOUR } from '../../../src/clock.ts';
import type { TaskProgress, Wish } from '../../../src/engine/agenda/choice.ts';
import { type AgendaFacts, type Question, questionsOf } from '../../../src/engine/agenda/questions.ts';
import { type List, partition, watched } from '../../../src/engine/coverage/list.ts';
import { sortableFields } from '../../../src/engine/job.ts';
import { overlap, type Slice, sliceText } from '../../../src/engine/slices/slice.ts';
import { anEntry } from './an-entry.ts';
import { anyFacts, NOW, WHOLE } from './any-facts.ts';
import { paperList, START, stampOf } from './paper/paper-source.ts';

/** What the agenda knows of any list. */
const anyAgenda: fc.Arbitrary<AgendaFacts> = fc
  .record({
    facts: anyFacts,
    weight: fc.double({ min: 0.01, max: 100, noNaN: true }),
    mostAge: fc.double({ min: 0.1, max: 100, noNaN: true }),
    watchedAges: fc.array(fc.option(fc.integer({ min: 0, max: 48 })), { minLength: 3, maxLength: 3 }),
  })
  .map(({ facts: { list, wish, ...rest }, weight, mostAge, watchedAges }) => {
    const ends = watched(list).flatMap(({ slice }, index) => {
      const age = watchedAges[index];
      return age == null ? [] : [anEntry({ slice, readAt: NOW - age * HOUR })];
    });
    const entries = new Map([...list.entries, ...ends.map(entry => [sliceText(entry.slice), entry] as const)]);
    const state = { ...wish.state, targets: [] };
    const agenda = { ...wish, kind: 'agenda' as const, from: null, to: null, reportOnly: false, state };
    return { ...rest, list: { ...list, entries }, wish: agenda, weight, mostAge };
  });

const withState = ({ wish }: AgendaFacts, state: Partial<TaskProgress>): Wish => ({
  ...wish,
  state: { ...wish.state, ...state },
});
const textsOf = (questions: readonly Question[]) => questions.map(({ choice }) => sliceText(choice.slice));

test('nothing is asked of a list that is absent or that fails', () => {
  const anyReason = fc.constantFrom(
    { absent: true, failure: null },
    { absent: false, failure: { kind: 'refused' } },
    { absent: false, failure: { kind: 'failed' } },
  );
  fc.assert(
    fc.property(anyAgenda, anyReason, (facts, { absent, failure }) => {
      expect(questionsOf({ ...facts, absent, wish: withState(facts, { failure }) })).toEqual([]);
    }),
  );
});

test('a list that reached its loss limit is still read, but none of its missing rows is asked for', () => {
  fc.assert(
    fc.property(anyAgenda, facts => {
      const asksForRows = ({ choice }: Question) => choice.asks !== undefined && choice.asks !== 'length';
      const before = questionsOf(facts).filter(each => !asksForRows(each));
      const after = questionsOf({ ...facts, wish: withState(facts, { failure: { kind: 'fuse' } }) });
      expect(after.some(asksForRows)).toBe(false);
      expect(new Set(textsOf(after))).toEqual(new Set(textsOf(before)));
    }),
  );
});

test('in 1,000 generated lists, scores are finite, and no question overlaps what is being read', () => {
  fc.assert(
    fc.property(anyAgenda, fc.nat(), fc.boolean(), (facts, pick, isReading) => {
      const parts = partition(facts.list);
      const reading = new Set<Slice>(isReading ? [parts[pick % parts.length]?.slice ?? WHOLE] : []);
      for (const { score, choice, requests } of questionsOf({ ...facts, list: { ...facts.list, reading } })) {
        expect(Number.isFinite(score)).toBe(true);
        expect(requests).toBeGreaterThanOrEqual(1);
        for (const each of reading) expect(overlap(each, choice.slice)).toBe(false);
      }
    }),
    { numRuns: 1000 },
  );
});

test('what was never read is left to the tick, and so is what the task has given up', () => {
  fc.assert(
    fc.property(anyAgenda, fc.nat(), (facts, pick) => {
      const unread = [
        ...partition(facts.list).filter(({ provenAt }) => provenAt === null),
        ...watched(facts.list).filter(({ readAt }) => readAt === null),
      ];
      const asked = questionsOf(facts).filter(({ choice }) => choice.asks === undefined);
      const texts = new Set(textsOf(asked.filter(({ choice }) => choice.slice.by !== 'newest')));
      for (const { slice } of unread) expect(texts).not.toContain(sliceText(slice));
      const parts = partition(facts.list);
      const given = sliceText((parts[pick % parts.length] as (typeof parts)[number]).slice);
      const wish = withState(facts, { done: new Set([given]) });
      const after = questionsOf({ ...facts, wish }).filter(({ choice }) => choice.asks === undefined);
      expect(textsOf(after)).not.toContain(given);
    }),
    { numRuns: 1000 },
  );
});

test('each slice is asked for by one question, and asking changes nothing', () => {
  fc.assert(
    fc.property(anyAgenda, facts => {
      const before = [...facts.list.entries.values()];
      const texts = textsOf(questionsOf(facts).filter(({ choice }) => choice.asks === undefined));
      const twice = texts.filter((text, index) => texts.indexOf(text) !== index && text !== 'newest');
      expect(twice).toEqual([]);
      expect([...facts.list.entries.values()]).toEqual(before);
    }),
    { numRuns: 1000 },
  );
});

test('a weight multiplies every score of a list', () => {
  fc.assert(
    fc.property(anyAgenda, facts => {
      const [once, thrice] = [1, 3].map(weight => questionsOf({ ...facts, weight }));
      for (const [index, { score }] of (once ?? []).entries())
        expect(thrice?.[index]?.score).toBeCloseTo(3 * score, Math.max(0, 8 - Math.log10(score + 1)));
    }),
  );
});

test('what was not read for longer than the agenda allows is overdue', () => {
  fc.assert(
    fc.property(anyAgenda, facts => {
      for (const { choice, overdue } of questionsOf(facts)) {
        const entry = facts.list.entries.get(sliceText(choice.slice));
        if (!entry || choice.asks !== undefined || choice.slice.by === 'total') continue;
        const readAt = entry.provenAt ?? entry.readAt;
        if (readAt !== null) expect(overdue).toBe((NOW - readAt) / HOUR > facts.mostAge);
      }
    }),
  );
});

test('the oldest missing row is asked for by its address, for one request, and its wait counts', () => {
  const { facts } = paperList(customers, [{ rate: 1, requests: 1 }], { order: 'id-desc' });
  const missing = ['7', '8'].map((key, index) => {
    return { key, slice: 'id ..', since: stampOf(START + index * HOUR), value: null };
  });
  const now = START + 3 * HOUR;
  const [first] = questionsOf({ ...facts, missing, now }).filter(({ choice }) => choice.asks !== undefined);
  expect(first).toMatchObject({ requests: 1, waiting: { changes: 1, hours: 3 }, score: 6 });
  expect(first?.choice).toMatchObject({ slice: { by: 'one', key: '7' }, answers: 1 });
  const wish = withState(facts, { asked: new Set(['7']) });
  const [next] = questionsOf({ ...facts, missing, now, wish }).filter(({ choice }) => choice.asks !== undefined);
  expect(next?.choice.slice).toEqual({ by: 'one', key: '8' });
});

test('the newest end of a list in the order of ids is asked for before the neighbours of a missing row, counted or not', () => {
  const byIdOnly = { order: 'id-desc', edits: 'in place', 'not ordered by': sortableFields(products).join() };
  const { facts } = paperList(products, [{ rate: 1, requests: 1 }], byIdOnly);
  const missing = [{ key: '7', slice: 'id ..', since: stampOf(START + HOUR), value: null }];
  const now = START + 3 * HOUR;
  const asks = (list: Partial<List>) => {
    const given = { ...facts, list: { ...facts.list, ...list }, missing, now };
    const [first] = questionsOf(given).filter(({ choice }) => choice.asks !== undefined);
    return first && [sliceText(first.choice.slice), first.choice.asks, first.waiting];
  };
  const waiting = { changes: 1, hours: 2 };
  for (const total of [null, 100]) expect(asks({ total })).toEqual(['id ..', { row: 'newest' }, waiting]);
  expect(asks({ total: 100, accountedAt: START + 2 * HOUR })).toEqual(['id 7..7', { row: '7' }, waiting]);
});

test.each([
  ['id-desc', 1],
  ['id-asc', Number.POSITIVE_INFINITY],
])('in the order %s, the newest end shows in so many answers of its range: %s', (order, answers) => {
  const byIdOnly = { order, edits: 'in place', 'not ordered by': sortableFields(products).join() };
  const { facts } = paperList(products, [{ rate: 1, requests: 1 }], byIdOnly);
  const missing = [{ key: '7', slice: 'id ..', since: stampOf(START + HOUR), value: null }];
  const [first] = questionsOf({ ...facts, missing, now: START + 3 * HOUR }).filter(
    ({ choice }) => choice.asks !== undefined,
  );
  expect(first?.choice).toMatchObject({ asks: { row: 'newest' }, answers });
});
