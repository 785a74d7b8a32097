import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MINUTE } from '../../../src/clock.ts';
import {
  NO_EXTRAS,
  NOT_VOLATILE,
  observeVolatile,
  seeExtras,
  type Volatile,
} from '../../../src/engine/profile/observe-volatile.ts';

const START = Date.parse('2026-01-15T10:00:00Z');
const timeOf = (minute: number) => START + minute * MINUTE;

/** Fifty rows that were read in this minute. */
const read = (minute: number, extraOf: (id: number) => object | null, amountOf = (id: number) => `${id}`) =>
  Array.from({ length: 50 }, (_, id) => {
    const extra = extraOf(id);
    const readAt = new Date(timeOf(minute)).toISOString();
    return {
      key: `${id}`,
      values: { amount: amountOf(id) },
      children: {},
      extra: extra && JSON.stringify(extra),
      readAt,
    };
  });

/** What is known after these readings, one a minute. */
function after(...extras: readonly ((id: number, minute: number) => object | null)[]): Volatile {
  let [known, seen] = [NOT_VOLATILE, NO_EXTRAS];
  for (const [minute, extraOf] of extras.entries()) {
    seen = seeExtras(
      seen,
      known,
      read(minute, id => extraOf(id, minute)),
    );
    for (const { value } of observeVolatile(known, seen, timeOf(minute))) known = JSON.parse(value) as Volatile;
  }
  return known;
}

const signed = (id: number, minute: number) => ({ url: `/${id}?at=${minute}`, colour: 'red' });
const steady = (id: number) => ({ url: `/${id}`, colour: 'red' });

test('a field that is another in each answer is suspected, then volatile, and no longer once it stays', () => {
  expect(after(signed)).toEqual(NOT_VOLATILE);
  expect(after(signed, signed)).toEqual({ fields: [], suspects: { url: timeOf(1) } });
  expect(after(signed, signed, signed)).toEqual({ fields: ['url'], suspects: {} });
  expect(after(signed, signed, signed, signed)).toEqual({ fields: ['url'], suspects: {} });
  // The last change is one more.
  expect(after(signed, signed, signed, steady, steady)).toEqual(NOT_VOLATILE);
});

test('what somebody changes in all rows at once is suspected, but not volatile, in whatever parts it is read', () => {
  expect(after(steady, steady, signed)).toEqual({ fields: [], suspects: { url: timeOf(2) } });
  const once = (id: number) => ({ ...steady(id), url: 'new' });
  expect(after(steady, steady, once, once)).toEqual(NOT_VOLATILE);
  // Other rows with the same change, in a later answer.
  const suspected = { fields: [], suspects: { url: timeOf(1) } };
  const seen = seeExtras(seeExtras(NO_EXTRAS, suspected, read(0, steady)), suspected, read(2, once));
  expect(observeVolatile(suspected, seen, timeOf(2))).toEqual([]);
});

test('a process that reads everything twice goes on with what one before it suspected', () => {
  const suspected = { fields: [], suspects: { url: timeOf(1) } };
  const [first, second] = [2, 3].map(minute => read(minute, id => signed(id, minute)));
  const seen = [first, second].reduce((all, rows) => seeExtras(all, suspected, rows ?? []), NO_EXTRAS);
  expect(observeVolatile(suspected, seen, timeOf(3))).toMatchObject([{ value: '{"fields":["url"],"suspects":{}}' }]);
});

test('a field that is worked out anew each night is not volatile', () => {
  const nights = [0, 1, 2, 3].map(night => read(night * 24 * 60, () => ({ overdue: night })));
  const seen = nights.reduce((all, rows) => seeExtras(all, NOT_VOLATILE, rows), NO_EXTRAS);
  expect(seen.fields.size).toBe(0);
});

test('a field that changes with its rows is not volatile, nor is one that some rows change or that is new', () => {
  let seen = NO_EXTRAS;
  for (let minute = 0; minute < 3; minute++)
    seen = seeExtras(
      seen,
      NOT_VOLATILE,
      read(
        minute,
        id => signed(id, minute),
        () => `${minute}`,
      ),
    );
  expect(observeVolatile(NOT_VOLATILE, seen, timeOf(3))).toEqual([]);
  const some = (id: number, minute: number) => ({ tag: id % 2 === 0 ? minute : 0 });
  expect(after(some, some, some)).toEqual(NOT_VOLATILE);
  const wider = () => ({ currency: 'EUR', old: 1 });
  expect(after(() => ({ old: 1 }), wider, wider)).toEqual(NOT_VOLATILE);
  expect(after(() => null, wider, wider)).toEqual(NOT_VOLATILE);
});

test('what was judged is counted anew, and only so many rows are remembered', () => {
  const extra = fc.record({ a: fc.integer(), b: fc.constant('b') }, { requiredKeys: [] });
  const answers = fc.array(fc.array(fc.tuple(fc.nat({ max: 400 }), extra), { maxLength: 300 }), { maxLength: 6 });
  fc.assert(
    fc.property(answers, given => {
      const readAt = new Date(START).toISOString();
      const rows = given.map(each =>
        each.map(([id, fields]) => ({ key: `${id}`, values: {}, children: {}, extra: JSON.stringify(fields), readAt })),
      );
      const seen = rows.reduce((all, answer) => seeExtras(all, NOT_VOLATILE, answer), NO_EXTRAS);
      expect(seen.rows.size).toBeLessThanOrEqual(200);
      for (const [field, { times, changed }] of seen.fields) {
        expect(['a', 'b']).toContain(field);
        expect(changed).toBeLessThanOrEqual(field === 'a' ? times : 0);
      }
    }),
  );
});
