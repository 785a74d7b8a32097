import { HOUR, MINUTE, stampMs } from '../../../../src/clock.ts';
import type { Wish } from '../../../../src/engine/agenda/choice.ts';
import { type AgendaFacts, best, type Question, questionsOf } from '../../../../src/engine/agenda/questions.ts';
import { coveredSince, partition, watched } from '../../../../src/engine/coverage/list.ts';
import { learn, learnSince } from '../../../../src/engine/coverage/prove.ts';
import type { Job } from '../../../../src/engine/job.ts';
import { profileOf } from '../../../../src/engine/profile/source-profile.ts';
import { strategyFor } from '../../../../src/engine/profile/strategy.ts';
import type { Entry } from '../../../../src/engine/slices/coverage-entry.ts';
import { monthBefore, monthRange } from '../../../../src/engine/slices/date-windows.ts';
import { type Slice, sliceText } from '../../../../src/engine/slices/slice.ts';
import { applyEvent, type TaskEvent } from '../../../../src/engine/task/apply-event.ts';
import { NEW_STATE, type TaskState } from '../../../../src/engine/task/task-state.ts';
import type { MissingRow } from '../../../../src/warehouse/rows/missing-rows.ts';
import { anEntry } from '../an-entry.ts';

export const START = Date.parse('2026-01-15T10:00:00Z');
export const TODAY = '2026-01-15';
/** A slice is read again after so many sweeps. */
export const MOST_SWEEPS = 5;
const TICK_MS = 15 * MINUTE;

export const stampOf = (ms: number): string => new Date(ms).toISOString().replace('Z', '+00');

/** A part of a list: how many of its rows change an hour, and the requests that reading it takes. */
export interface PaperPart {
  readonly rate: number;
  readonly requests: number;
}

/** A list of a source that exists on paper only. */
export interface PaperList {
  facts: AgendaFacts;
  /** Rows an hour that change in truth, by the text of the slice. */
  readonly rates: ReadonlyMap<string, number>;
  /** Slices, by their text, whose readings never add up. */
  readonly unsettled?: ReadonlySet<string>;
}

const WISH: Wish = {
  kind: 'agenda',
  since: START,
  from: null,
  to: null,
  reportOnly: false,
  state: NEW_STATE,
};

/** Ranges of 100 ids, or months, the newest first; each was read once at the start, as was what is watched. */
export function paperList(job: Job, parts: readonly PaperPart[], traits: Readonly<Record<string, string>>): PaperList {
  const profile = profileOf(Object.entries(traits).map(([trait, value]) => ({ trait, value })));
  const strategy = strategyFor(profile, job);
  const sliceAt = (index: number): Slice =>
    strategy.partition === 'id' ? rangeAt(index, parts.length) : monthAt(index, parts.length);
  const read = { provenAt: START, readAt: START };
  const entries = parts.map(({ requests }, index) => anEntry({ ...read, requests, slice: sliceAt(index) }));
  const ends = strategy.watched.map(slice => anEntry({ slice, readAt: START }));
  const rates = parts.map(({ rate }, index) => [sliceText(sliceAt(index)), rate] as const);
  const list = {
    job,
    profile,
    strategy,
    entries: new Map([...entries, ...ends].map(entry => [sliceText(entry.slice), entry])),
    total: null,
    reading: new Set<Slice>(),
  };
  const facts = { list, wish: WISH, missing: [], now: START, today: TODAY, weight: 1, mostAge: 0 };
  return { facts, rates: new Map(rates) };
}

function rangeAt(index: number, count: number): Slice {
  const from = BigInt((count - index - 1) * 100);
  return { by: 'id', from: index === count - 1 ? null : from + 1n, to: index === 0 ? null : from + 100n };
}

function monthAt(index: number, count: number): Slice {
  const { from, to } = monthRange(monthBefore(TODAY, index));
  return { by: 'date', from: index === count - 1 ? null : from, to: index === 0 ? null : to };
}

export interface Asked {
  readonly list: PaperList;
  readonly question: Question;
  /** Epoch milliseconds. */
  readonly at: number;
}

export interface PaperRun {
  readonly requestsAnHour: number;
  readonly questions: number;
  readonly random: () => number;
  /** After the answer to a question; it may change the facts of the list. */
  readonly onAsked?: (asked: Asked) => void;
}

/** Hours that reading every part of the lists once takes. */
export const sweepHours = (lists: readonly PaperList[], requestsAnHour: number): number =>
  lists.flatMap(({ facts }) => partition(facts.list)).reduce((sum, { requests }) => sum + requests, 0) / requestsAnHour;

/** Asks the best question, one after the other, at an even pace; what is asked once for each tick is asked again after the next. */
export function run(lists: readonly PaperList[], { requestsAnHour, questions, random, onAsked }: PaperRun): Asked[] {
  const asked: Asked[] = [];
  const mostAge = MOST_SWEEPS * sweepHours(lists, requestsAnHour);
  let now = START;
  let tickAt = START;
  while (asked.length < questions) {
    if (now >= tickAt) for (const list of lists) list.facts = withState(list.facts, NEW_STATE);
    if (now >= tickAt) tickAt = now + TICK_MS;
    for (const list of lists) list.facts = { ...list.facts, now, mostAge };
    const found = lists.flatMap(list => questionsOf(list.facts).map(question => ({ ...question, list })));
    const question = best(found.filter(({ score, overdue }) => overdue || score > 0));
    if (question === null) {
      now += MINUTE;
      continue;
    }
    const { list } = question;
    answer(list, question, now, random);
    const each = { list, question, at: now };
    asked.push(each);
    onAsked?.(each);
    now += (Math.max(question.requests, 1) / requestsAnHour) * HOUR;
  }
  return asked;
}

const withState = (facts: AgendaFacts, state: TaskState): AgendaFacts => ({ ...facts, wish: { ...facts.wish, state } });
const after = (facts: AgendaFacts, event: TaskEvent): AgendaFacts =>
  withState(facts, applyEvent({ ...NEW_STATE, ...facts.wish.state, failure: null }, event));

/** What is known after an answer: the slice is proven, and as many rows of it have changed as the rate and chance say. */
function answer(list: PaperList, { choice }: Question, at: number, random: () => number): void {
  const { facts } = list;
  const { slice, asks } = choice;
  if (typeof asks === 'object') {
    const times = (facts.attempts?.get(asks.row)?.times ?? 0) + 1;
    const attempts = new Map(facts.attempts).set(asks.row, { times, at });
    list.facts = { ...after(facts, { kind: 'asked', choice, targets: [] }), attempts };
    return;
  }
  const text = sliceText(slice);
  if (list.unsettled?.has(text)) {
    // After some readings that proved nothing, the slice is given up until the next tick.
    list.facts = after(facts, { kind: 'proved nothing', slices: [text] });
    put(list, { ...(facts.list.entries.get(text) as Entry), readAt: at });
    return;
  }
  const entry = facts.list.entries.get(text) ?? anEntry({ slice });
  const proves = slice.by === facts.list.strategy.partition;
  const since = proves ? entry.provenAt : entry.readAt;
  const hours = (at - (since ?? at)) / HOUR;
  const lesson = {
    at,
    changed: Math.floor((list.rates.get(text) ?? 0) * hours + random()),
    rows: 100,
    requests: entry.requests,
  };
  const next: Entry = proves ? learn(entry, lesson) : learnSince(entry, entry.readAt, lesson);
  put(list, { ...next, dueSince: null, dueReason: null });
  list.facts = { ...list.facts, missing: withoutCovered(list.facts) };
}

export function put(list: PaperList, entry: Entry): void {
  const entries = new Map(list.facts.list.entries).set(sliceText(entry.slice), entry);
  list.facts = { ...list.facts, list: { ...list.facts.list, entries } };
}

/** A whole cover that was read since a row went missing confirms its deletion. */
function withoutCovered({ list, missing }: AgendaFacts): readonly MissingRow[] {
  const since = coveredSince(list);
  if (list.strategy.confirmation !== 'cover' || since === null) return missing;
  return missing.filter(row => stampMs(row.since) >= since);
}

/** When each slice of the lists was read: the start, and every time it was asked for. */
export function readingsOf(lists: readonly PaperList[], asked: readonly Asked[]): ReadonlyMap<string, number[]> {
  const name = (list: PaperList, slice: Slice) => `${lists.indexOf(list)} ${sliceText(slice)}`;
  const readings = new Map<string, number[]>();
  for (const list of lists)
    for (const { slice } of [...partition(list.facts.list), ...watched(list.facts.list)])
      readings.set(name(list, slice), [START]);
  for (const { list, question, at } of asked) readings.get(name(list, question.choice.slice))?.push(at);
  return readings;
}

/** The most hours between two readings of any slice, the end of the run included. */
export function longestWait(lists: readonly PaperList[], asked: readonly Asked[]): number {
  const end = asked.at(-1)?.at ?? START;
  const waits = [...readingsOf(lists, asked).values()].flatMap(readAt =>
    [...readAt, end].slice(1).map((at, index) => at - (readAt[index] as number)),
  );
  return Math.max(...waits) / HOUR;
}
