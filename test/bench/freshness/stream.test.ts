import { describe, expect, test } from 'vitest';
import { SIZES, START_MS, STREAM } from '../../../bench/freshness/parameters.ts';
import { NEWEST, OLDEST } from '../../../bench/freshness/policy.ts';
import { flowsOf } from '../../../bench/freshness/stream/flows.ts';
import { habits } from '../../../bench/freshness/stream/habits.ts';
import { createRows, dayOfKey, keyOf } from '../../../bench/freshness/stream/rows.ts';
import { type Change, createStream } from '../../../bench/freshness/stream/stream.ts';
import { DAY, HOUR } from '../../../src/clock.ts';

const HABITS = habits(DAY);

const counts = SIZES.medium;
const options = { counts, seed: 7, parameters: STREAM, startMs: START_MS };

describe('the stream', () => {
  test('the same seed gives the same changes, however often it is advanced', () => {
    const atOnce = createStream(options).advanceTo(START_MS + 3 * DAY);
    const hourly = createStream(options);
    const inSteps = Array.from({ length: 72 }, (_, hour) => hourly.advanceTo(START_MS + (hour + 1) * HOUR)).flat();
    expect(inSteps).toEqual(atOnce);
    expect(createStream({ ...options, seed: 8 }).advanceTo(START_MS + 3 * DAY)).not.toEqual(atOnce);
  });

  test('each kind of change occurs as often as its rate says', () => {
    const days = 200;
    const changes = createStream(options).advanceTo(START_MS + days * DAY);
    for (const { list, kind, perHour } of flowsOf(counts, STREAM)) {
      const expected = perHour * 24 * days;
      const found = changes.filter(change => change.list === list && change.kind === kind).length;
      // Five standard deviations. More invoices are open as back-dated ones come in, by 5%.
      const slack = kind === 'paid' ? 0.08 * expected : 0;
      expect(Math.abs(found - expected), `${list} ${kind}`).toBeLessThan(5 * Math.sqrt(expected) + slack + 1);
    }
  });

  test('edits hit young rows and rows of any age as configured, payments open invoices', () => {
    const changes = createStream(options).advanceTo(START_MS + 200 * DAY);
    const agesOf = (kind: string) =>
      changes.filter(change => change.kind === kind && change.list === 'invoices').map(ageDays);
    const share = (ages: number[], days: number) => ages.filter(age => age < days).length / ages.length;
    const edited = agesOf('edited');
    const expected = (days: number) => 0.75 * (1 - Math.exp(-days / 12)) + (0.25 * days) / 730;
    for (const days of [12, 60, 365]) expect(share(edited, days)).toBeCloseTo(expected(days), 1);
    const paid = agesOf('paid');
    expect(paid.reduce((sum, age) => sum + age, 0) / paid.length).toBeGreaterThan(15);
    expect(share(paid, 17.5)).toBeCloseTo(1 - Math.exp(-1), 1);
  });

  test('an invoice is paid once, and only rows that exist change', () => {
    const stream = createStream(options);
    const paid = new Set<number>();
    for (let day = 1; day <= 30; day++) {
      for (const { list, kind, id, place } of stream.advanceTo(START_MS + day * DAY)) {
        if (kind === 'paid') expect(paid.has(id)).toBe(false);
        if (kind === 'paid') paid.add(id);
        expect(dayOfKey(place)).toBeLessThanOrEqual(Math.floor((START_MS + day * DAY) / DAY));
        if (kind === 'deleted') expect(stream.rows[list].has(id)).toBe(false);
      }
    }
    expect(paid.size).toBeGreaterThan(300);
  });

  test('`times` only makes time pass faster', () => {
    const usual = createStream(options).advanceTo(START_MS + 10 * DAY);
    const faster = createStream({ ...options, parameters: { ...STREAM, times: 20 } }).advanceTo(START_MS + DAY / 2);
    const kinds = (changes: readonly Change[]) => changes.map(({ list, kind }) => `${list} ${kind}`);
    expect(kinds(faster)).toEqual(kinds(usual));
  });

  test('habits change the rates for their time', () => {
    const stream = createStream({ ...options, phases: HABITS, phasesFromMs: START_MS });
    const changes = stream.advanceTo(START_MS + 8 * DAY);
    const during = (name: string) => {
      const phase = HABITS.find(each => each.name === name) ?? { fromMs: 0, toMs: 0 };
      const within = changes.filter(({ at }) => at >= START_MS + phase.fromMs && at < START_MS + phase.toMs);
      return { n: within.length, perDay: (within.length * DAY) / (phase.toMs - phase.fromMs) };
    };
    expect(during('month-end').perDay).toBeGreaterThan(2.5 * during('usual').perDay);
    expect(during('quiet weekend').perDay).toBeLessThan(0.2 * during('usual').perDay);
    expect(during('import of old rows').n).toBeGreaterThan(4700);
    expect(during('mass edit').n).toBeGreaterThan(850);
  });
});

const ageDays = ({ at, place }: Change) => at / DAY - dayOfKey(place) - 0.5;

describe('rows of a list', () => {
  test('are in order of date, then id, also after rows came in late, moved or left', () => {
    const rows = createRows([10, 10, 11, 13]);
    const late = rows.insert(10);
    rows.move(1, 13);
    rows.remove(3);
    expect(rows.between(OLDEST, NEWEST, 10)).toEqual([2, late, 1, 4]);
    expect([0, 1, 2, 3].map(position => rows.at(position))).toEqual([4, 1, late, 2]);
    expect(rows.between(keyOf(10, 3), keyOf(13, 4), 10)).toEqual([late, 1]);
    expect(rows.between(OLDEST, NEWEST, 2)).toEqual([2, late]);
    expect([rows.size, rows.has(3), rows.dayOf(1)]).toEqual([4, false, 13]);
  });
});
