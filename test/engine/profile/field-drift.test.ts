import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DAY, HOUR } from '../../../src/clock.ts';
import { composeNotice, meaningOf } from '../../../src/engine/changes/drift-notice.ts';
import {
  allNews,
  driftText,
  type FieldDrift,
  MOST_NAMES,
  observeDrift,
  parseDrift,
} from '../../../src/engine/profile/field-drift.ts';
import { profileOf, UNKNOWN } from '../../../src/engine/profile/source-profile.ts';

const BEGIN = Date.UTC(2026, 0, 15);

interface Shown {
  readonly unknown?: readonly string[];
  readonly omitted?: readonly string[];
  /** Rows that lack what is omitted, and that have something stored there. */
  readonly emptied?: number;
}

/** One answer after another, each in a process of its own; `proven`: as of when the only part of the list is. */
function answers(fields: readonly string[] = []) {
  let profile = { drift: null as FieldDrift | null, fields: new Set(fields) };
  return ({ unknown = [], omitted = [], emptied = 0 }: Shown, at: number, proven: number | null = at - HOUR) => {
    const shown = { unknown, omitted: new Set(omitted), emptied: new Map(omitted.map(field => [field, emptied])) };
    const { drift, news } = observeDrift(profile, shown, { at, proofs: [proven] });
    profile = { ...profile, drift: parseDrift(driftText(drift)) };
    expect(profile.drift).toEqual(drift);
    return news.map(({ field, kind }) => `${kind} ${field}`);
  };
}

test('what a list carries when it is first read in full is no news, what it carries later is news once', () => {
  const answer = answers();
  expect(answer({ unknown: ['tax', 'items.sku'] }, BEGIN, null)).toEqual([]);
  expect(answer({ unknown: ['tax', 'colour'] }, BEGIN + 1, null)).toEqual([]);
  expect(answer({ unknown: ['tax', 'discount', 'items.discount'] }, BEGIN + 2, BEGIN)).toEqual([
    'new discount',
    'new items.discount',
  ]);
  expect(answer({ unknown: ['discount'] }, BEGIN + 3, BEGIN)).toEqual([]);
  // A part that is cut anew, and not read yet, changes nothing.
  expect(answer({ unknown: ['discount', 'note'] }, BEGIN + 4, null)).toEqual(['new note']);
});

test('a warehouse that was filled before fields were observed is read in full once before anything is news', () => {
  const answer = answers(['declared_before']);
  expect(answer({ unknown: ['tax'] }, BEGIN, BEGIN - HOUR)).toEqual([]);
  expect(answer({ unknown: ['colour'] }, BEGIN + 1, BEGIN - 1)).toEqual([]);
  expect(answer({ unknown: ['discount', 'declared_before'] }, BEGIN + 2, BEGIN)).toEqual(['new discount']);
});

test('a field has vanished once rows that had it come without it, and not where they never had it or are few', () => {
  const answer = answers(['amount', 'notes']);
  expect(answer({}, BEGIN)).toEqual([]);
  expect(answer({ omitted: ['notes'] }, BEGIN + 1)).toEqual([]);
  expect(answer({ omitted: ['notes'], emptied: 4 }, BEGIN + 2)).toEqual([]);
  expect(answer({ omitted: ['amount'], emptied: 5 }, BEGIN + 3)).toEqual(['vanished amount']);
  expect(answer({ omitted: ['amount', 'notes'], emptied: 5 }, BEGIN + 4)).toEqual(['vanished notes']);
});

test('a vanished field that comes back is shown no longer, and one that comes and goes is news once a day', () => {
  let profile = { drift: null as FieldDrift | null, fields: new Set(['amount']) };
  const answer = (isOmitted: boolean, at: number) => {
    const omitted = isOmitted ? ['amount'] : [];
    const shown = { unknown: [], omitted: new Set(omitted), emptied: new Map(omitted.map(field => [field, 60])) };
    const { drift, news } = observeDrift(profile, shown, { at, proofs: [BEGIN] });
    profile = { ...profile, drift };
    return [news.length, allNews(drift).map(({ since }) => since - BEGIN)];
  };
  expect(answer(true, BEGIN)).toEqual([1, [0]]);
  expect(answer(false, BEGIN + HOUR)).toEqual([0, []]);
  expect(answer(true, BEGIN + 2 * HOUR)).toEqual([0, [0]]);
  expect(answer(false, BEGIN + 3 * HOUR)).toEqual([0, []]);
  expect(answer(true, BEGIN + DAY)).toEqual([1, [DAY]]);
});

test('names that are data are remembered up to a number and a length, and the notice says that there may be more', () => {
  const many = Array.from({ length: 5000 }, (_, day) => `2026-${day}`);
  const observed = (drift: FieldDrift | null, unknown: string[], proven: number | null) =>
    observeDrift(
      { drift, fields: new Set() },
      { unknown, omitted: new Set(), emptied: new Map() },
      { at: BEGIN + 1, proofs: [proven] },
    );
  const first = observed(null, ['tax'], null);
  const { drift, news } = observed(first.drift, [...many, 'x'.repeat(100_000)], BEGIN);
  expect([drift.unknown.size, news.length]).toEqual([MOST_NAMES, MOST_NAMES - 1]);
  expect(observed(drift, ['one more'], BEGIN).news).toEqual([]);
  const { message } = composeNotice('invoices', { children: {} }, { news, drift });
  expect(message).toMatch(/2026-1005 and 89 more\. With 100 unknown fields, further ones are not reported\.$/);
  expect(driftText(observed(first.drift, ['x'.repeat(100_000)], BEGIN).drift).length).toBeLessThan(300);
});

test('names of the source are hostile text', () => {
  const names = ['__proto__', 'constructor', "it's", 'a,b', '"', '\u202eevil', '\x1b[2J', ''];
  const answer = answers();
  answer({ unknown: [] }, BEGIN, null);
  expect(answer({ unknown: names }, BEGIN + 1, BEGIN)).toHaveLength(names.length);
  expect(answer({ unknown: names }, BEGIN + 2, BEGIN)).toEqual([]);
  const meaning = (field: string) =>
    meaningOf(
      'invoices',
      { children: { items: { table: 'invoice_items', parent: 'invoice_id' } } },
      { field, kind: 'new', since: BEGIN },
    );
  expect(meaning("it's")).toContain("select _extra->>'it''s' from invoices.");
  expect(meaning('\u202eevil\x1b[2J')).toContain("_extra->>'\\u202eevil\\x1b[2J'");
  expect(meaning('items.discount')).toContain("select _extra->>'discount' from invoice_items.");
});

test('a profile keeps what is stored of the fields, and stays the same where that is known', () => {
  const { drift } = observeDrift(
    UNKNOWN,
    { unknown: ['tax'], omitted: new Set(), emptied: new Map() },
    { at: BEGIN, proofs: [null] },
  );
  const trait = { trait: 'drift', value: driftText(drift) };
  expect(profileOf([trait]).drift).toEqual(drift);
  const twice = profileOf([trait, trait]);
  expect(twice.drift).toEqual(drift);
});

test('what is told as new was absent before, what is told as vanished was carried before, and each is told once', () => {
  const names = fc.subarray(['a', 'b', 'c', 'items.d']);
  const step = fc.record({
    unknown: names,
    omitted: fc.subarray(['amount', 'notes', 'items']),
    emptied: fc.nat({ max: 9 }),
    pause: fc.integer({ min: 1, max: 8 * HOUR }),
    isProven: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 30 }), fc.boolean(), (steps, isFilled) => {
      const answer = answers(['amount', 'notes', 'items']);
      let at = BEGIN;
      let proven = isFilled ? BEGIN : null;
      let wasInFull = false;
      const shown = new Set<string>();
      const gone = new Map<string, number>();
      const carried = new Set(['amount', 'notes', 'items']);
      for (const [place, { isProven, pause, ...each }] of steps.entries()) {
        at += pause;
        // A first load is over once its part is proven; else it must be proven since the first answer.
        if (place > 0 && proven !== null && (!isFilled || proven > BEGIN)) wasInFull = true;
        const news = answer(each, at, proven);
        const appeared = each.unknown.filter(name => wasInFull && !shown.has(name)).map(name => `new ${name}`);
        for (const name of each.unknown) shown.add(name);
        const vanished = each.omitted.filter(
          field => each.emptied >= 5 && carried.has(field) && at - (gone.get(field) ?? Number.NEGATIVE_INFINITY) >= DAY,
        );
        for (const field of ['amount', 'notes', 'items']) if (!each.omitted.includes(field)) carried.add(field);
        for (const field of each.omitted) if (each.emptied >= 5) carried.delete(field);
        for (const field of vanished) gone.set(field, at);
        expect(news).toEqual([...appeared, ...vanished.map(field => `vanished ${field}`)]);
        if (isProven) proven = at;
      }
    }),
  );
});
