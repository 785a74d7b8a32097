import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Choice, single } from '../../../src/engine/agenda/choice.ts';
import { type IdSlice, parseSlice, type Slice } from '../../../src/engine/slices/slice.ts';
import { applyEvent, EVENTS, MOST_NEW_LOOKS, type TaskEvent } from '../../../src/engine/task/apply-event.ts';
import {
  comparedSoFar,
  MOST_TRIES,
  NEW_STATE,
  phaseOf,
  steadyMiscount,
  type TaskState,
} from '../../../src/engine/task/task-state.ts';
import { SluiceError } from '../../../src/errors.ts';

type Kind = TaskEvent['kind'];

const [A, B] = ['id 1..5', 'id 6..8'] as const;
const ids = (from: bigint, to: bigint): IdSlice => ({ by: 'id', from, to });
const FAILED = new SluiceError('failed', 'first');
const HELD_BACK = new SluiceError('fuse', 'first');
const LATER = new SluiceError('refused', 'later');

/** A task that has noted something of every kind. */
const BUSY: TaskState = {
  ...NEW_STATE,
  allowance: 10,
  targets: [parseSlice(B)],
  done: new Set([A]),
  asked: new Set(['1', '2']),
  coverAsked: new Set([A]),
  pauses: new Set([5]),
  justLacked: new Map([[A, new Set(['1', '2'])]]),
  intervals: [ids(1n, 5n)],
  accepted: 3,
  lookedAgain: 2,
  drops: 1,
  countAsked: true,
  tries: new Map([[A, MOST_TRIES - 1]]),
  doubts: new Map([[A, 1]]),
  covers: [50],
  doubtedEdges: new Set(['date from 2025-01-01']),
  miscounts: new Map([[A, new Map([[14, 1]])]]),
};

const STATES = {
  open: BUSY,
  unanswered: { ...BUSY, presence: 'unanswered' },
  absent: { ...BUSY, presence: 'absent' },
  overtaken: { ...BUSY, closed: 'overtaken' },
  'nothing left': { ...BUSY, closed: 'nothing left' },
  broken: { ...BUSY, closed: 'broken' },
  failed: { ...BUSY, failure: FAILED },
  'held back': { ...BUSY, failure: HELD_BACK },
} satisfies Record<string, TaskState>;
type StateName = keyof typeof STATES;

const { done, asked, coverAsked, countAsked, tries, doubts, miscounts } = NEW_STATE;
const STARTED_OVER = { done, asked, coverAsked, countAsked, tries, doubts, miscounts };

/** What an event carries, what it changes in any state, and what instead in some of them. */
type Example<K extends Kind> = readonly [
  carries: Omit<Extract<TaskEvent, { kind: K }>, 'kind'>,
  changes: Partial<TaskState>,
  except?: Partial<Record<StateName, Partial<TaskState>>>,
];

const choose = (asks?: Choice['asks'], slice = parseSlice(B)): Choice => ({
  ...single(slice, false),
  ...(asks === undefined ? {} : { asks }),
});
const { targets } = BUSY;

/** One row of the table for each event; `STATES` are its columns. */
const EXAMPLES: { readonly [K in Kind]: readonly [Example<K>, ...Example<K>[]] } = {
  'share taken': [
    [{ share: 'everything' }, { readsAll: true }],
    [{ share: 7 }, { readsAll: false, allowance: 7 }],
    [
      { share: null },
      { readsAll: false, closed: 'nothing left' },
      { overtaken: { readsAll: false }, broken: { readsAll: false } },
    ],
  ],
  asked: [
    [{ choice: choose(), targets: [] }, { targets: [] }],
    [{ choice: choose('count'), targets }, { countAsked: true }],
    [{ choice: choose('length'), targets }, { done: new Set([A, B]) }],
    [{ choice: choose('cover'), targets }, { coverAsked: new Set([A, B]) }],
    [{ choice: choose('all'), targets }, { coverAsked: new Set([A, B]) }],
    [{ choice: choose({ row: '7' }), targets }, { asked: new Set(['1', '2', '7']) }],
    [
      { choice: { ...choose('length'), confirmsFrom: 60 }, targets },
      { done: new Set([A, B]), covers: [50, 60] },
    ],
    [{ choice: { ...choose(), confirmsFrom: 50 }, targets }, {}],
  ],
  reopened: [
    [{ slices: [A] }, { done: new Set() }],
    [{ slices: [B] }, {}],
  ],
  spent: [[{ requests: 4 }, { allowance: 6 }]],
  'allowance left': [[{ requests: 4 }, { allowance: 14 }]],
  'target returned': [[{ slice: parseSlice(A) }, { targets: [parseSlice(A), parseSlice(B)] }]],
  done: [[{ slices: [A, B] }, { done: new Set([A, B]) }]],
  compared: [
    [
      { slice: ids(4n, 7n), slices: [B] },
      { done: new Set([A, B]), intervals: [ids(1n, 5n), ids(4n, 7n)] },
    ],
    [{ slice: ids(2n, 4n), slices: [B] }, { done: new Set([A, B]) }],
    [{ slice: { by: 'whole' }, slices: ['whole'] }, { done: new Set([A, 'whole']) }],
  ],
  'proved nothing': [
    [{ slices: [B] }, { tries: new Map([...BUSY.tries, [B, 1]]) }],
    [{ slices: [B, B, B] }, { tries: new Map([...BUSY.tries, [B, MOST_TRIES]]), done: new Set([A, B]) }],
  ],
  'given up': [[{ slices: [A, B] }, { tries: new Map([A, B].map(slice => [slice, MOST_TRIES])) }]],
  proven: [[{ slices: [A, B] }, { tries: new Map() }]],
  miscounted: [[{ slice: A, by: 14 }, { miscounts: new Map([[A, new Map([[14, 2]])]]) }]],
  'counts judged': [[{}, { miscounts: new Map(), countJudged: true }]],
  'edges doubted': [
    [{ edges: ['date to 2025-01-31'] }, { doubtedEdges: new Set(['date from 2025-01-01', 'date to 2025-01-31']) }],
  ],
  contradicted: [
    [
      { slice: A, rows: ['2', '3'] },
      { doubts: new Map([[A, 2]]), asked: new Set(['1']) },
    ],
  ],
  'just lacked': [[{ slices: [B], rows: ['3'] }, { justLacked: new Map([...BUSY.justLacked, [B, new Set(['3'])]]) }]],
  shown: [[{ rows: ['2', '9'] }, { justLacked: new Map([[A, new Set(['1'])]]) }]],
  // They have asked for the count after the cover.
  counted: [
    [{ rows: 100, at: 5, windowsHoldAll: false }, {}],
    [{ rows: 100, at: 5, windowsHoldAll: true }, { windowsHoldAllAt: 5 }],
  ],
  deleted: [
    [{ rows: 2 }, { accepted: 1 }],
    [{ rows: 20 }, { accepted: 0 }],
  ],
  accepted: [
    [
      { rows: 5 },
      { accepted: 5 },
      { 'held back': { accepted: 5, failure: null, asked: new Set(), coverAsked: new Set() } },
    ],
    [{ rows: 2 }, {}],
  ],
  learnt: [[{}, { ...STARTED_OVER, lookedAgain: 3 }]],
  'slices dropped': [[{}, { drops: 2 }]],
  'started over': [[{}, STARTED_OVER]],
  paused: [[{ until: 9 }, { pauses: new Set([5, 9]) }]],
  unanswered: [[{}, { ...STARTED_OVER, presence: 'unanswered' }, { absent: {} }]],
  'others answered': [[{}, {}, { unanswered: { presence: 'assumed' } }]],
  'found absent': [[{}, { presence: 'absent' }]],
  failed: [[{ error: LATER }, { failure: LATER }, { failed: {}, 'held back': {} }]],
  'held back': [[{ error: LATER }, { failure: LATER }, { failed: {} }]],
  'failure reported': [[{}, { failure: null }]],
  closed: [[{ why: 'broken' }, { closed: 'broken' }, { overtaken: {}, 'nothing left': {} }]],
};

/** Throws where it is changed, its sets and maps included. */
function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value) || value instanceof Error) return value;
  for (const each of value instanceof Set || value instanceof Map ? value.values() : Object.values(value)) frozen(each);
  const refuse = () => {
    throw new Error('a state was changed in place');
  };
  for (const change of ['add', 'set', 'delete', 'clear'])
    if (change in value) Object.assign(value, { [change]: refuse });
  return Object.freeze(value);
}

describe.each(Object.keys(EVENTS) as Kind[])('the event "%s"', kind => {
  test.each(Object.keys(STATES) as StateName[])('in the state "%s"', name => {
    const state = frozen(STATES[name]);
    const examples: readonly Example<Kind>[] = EXAMPLES[kind];
    for (const [carries, changes, except] of examples)
      expect(applyEvent(state, { kind, ...carries } as TaskEvent)).toEqual({
        ...state,
        ...(except?.[name] ?? changes),
      });
  });
});

test('whether anything starts depends on what was closed or failed, then on whether the list is there', () => {
  const phases = Object.entries(STATES).map(([name, state]) => [name, phaseOf(state)]);
  expect(Object.fromEntries(phases)).toEqual({
    open: 'open',
    unanswered: 'unanswered',
    absent: 'absent',
    overtaken: 'ending',
    'nothing left': 'ending',
    broken: 'ending',
    failed: 'ending',
    // Only deletions stop.
    'held back': 'open',
  });
  expect(phaseOf({ ...STATES.absent, failure: new SluiceError('unavailable', 'down') })).toBe('ending');
  expect(phaseOf({ ...STATES.unanswered, failure: HELD_BACK })).toBe('unanswered');
  expect(phaseOf({ ...STATES.unanswered, closed: 'overtaken' })).toBe('ending');
});

const anyText = fc.constantFrom(A, B, 'newest', 'date 2025-01-01..');
const anySlice: fc.Arbitrary<Slice> = anyText.map(parseSlice);
const anyTexts = fc.array(anyText, { maxLength: 3 });
const anyRows = fc.array(fc.constantFrom('1', '2', '3', '4'), { maxLength: 3 });
const anyCount = fc.integer({ min: 0, max: 5 });
const anyError = fc
  .constantFrom('failed' as const, 'fuse' as const, 'refused' as const, 'unavailable' as const)
  .map(kind => new SluiceError(kind, kind));
const nothing = fc.constant({});

/** What events of each kind may carry. */
const CARRIED: { readonly [K in Kind]: fc.Arbitrary<Example<K>[0]> } = {
  'share taken': fc.record({ share: fc.constantFrom('everything' as const, 0, 5, null) }),
  asked: fc.record({
    choice: fc
      .tuple(
        fc.constantFrom(undefined, 'count' as const, 'length' as const, 'cover' as const, 'all' as const, { row: '1' }),
        anySlice,
      )
      .map(each => choose(...each)),
    targets: fc.array(anySlice, { maxLength: 2 }),
  }),
  reopened: fc.record({ slices: anyTexts }),
  spent: fc.record({ requests: anyCount }),
  'allowance left': fc.record({ requests: anyCount }),
  'target returned': fc.record({ slice: anySlice }),
  done: fc.record({ slices: anyTexts }),
  compared: fc.record({ slice: anySlice, slices: anyTexts }),
  'proved nothing': fc.record({ slices: anyTexts }),
  'given up': fc.record({ slices: anyTexts }),
  proven: fc.record({ slices: anyTexts }),
  miscounted: fc.record({ slice: anyText, by: anyCount }),
  'counts judged': nothing,
  'edges doubted': fc.record({ edges: fc.array(fc.constantFrom('date from 2025-01-01', 'date to 2025-01-31')) }),
  contradicted: fc.record({ slice: anyText, rows: anyRows }),
  'just lacked': fc.record({ slices: anyTexts, rows: anyRows }),
  shown: fc.record({ rows: anyRows }),
  counted: fc.record({ rows: anyCount, at: anyCount, windowsHoldAll: fc.boolean() }),
  deleted: fc.record({ rows: anyCount }),
  accepted: fc.record({ rows: anyCount }),
  learnt: nothing,
  'slices dropped': nothing,
  'started over': nothing,
  paused: fc.record({ until: anyCount }),
  unanswered: nothing,
  'others answered': nothing,
  'found absent': nothing,
  failed: fc.record({ error: anyError }),
  'held back': fc.constant({ error: new SluiceError('fuse', 'counted again') }),
  'failure reported': nothing,
  closed: fc.record({ why: fc.constantFrom('overtaken' as const, 'nothing left' as const, 'broken' as const) }),
};

const anyEvent: fc.Arbitrary<TaskEvent> = fc.oneof(
  ...(Object.keys(CARRIED) as Kind[]).map(kind =>
    (CARRIED[kind] as fc.Arbitrary<object>).map(carried => ({ kind, ...carried }) as TaskEvent),
  ),
);

type Step = { readonly before: TaskState; readonly event: TaskEvent; readonly after: TaskState };

/** Holds at each event of the generated lives of a task. All states are frozen. */
function always(holds: (step: Step) => boolean): void {
  const anyStart = fc.record({ accepted: anyCount, allowance: anyCount, readsAll: fc.constantFrom(null, true) });
  fc.assert(
    fc.property(anyStart, fc.array(anyEvent, { maxLength: 80, size: 'max' }), (start, events) => {
      let before: TaskState = frozen({ ...NEW_STATE, ...start });
      for (const event of events) {
        const after = frozen(applyEvent(before, event));
        if (!holds({ before, event, after })) throw new Error(`not after "${event.kind}"`);
        before = after;
      }
    }),
    { numRuns: 400 },
  );
}

test('the first failure stays until it is reported; only the loss limit is counted anew, or raised', () => {
  always(({ before, event, after }) => {
    if (before.failure === null || event.kind === 'failure reported') return true;
    const isFuse = before.failure.kind === 'fuse';
    if (event.kind === 'accepted' && isFuse)
      return after.failure === (event.rows > before.accepted ? null : before.failure);
    const isCountedAnew = event.kind === 'held back' && isFuse;
    return after.failure === (isCountedAnew ? event.error : before.failure);
  });
});

test('a task looks again a few times at most, and never forgets how often', () => {
  always(({ before, after }) => before.lookedAgain <= after.lookedAgain && after.lookedAgain <= MOST_NEW_LOOKS);
});

test('what is closed stays closed for its first reason, and a list found absent stays absent', () => {
  always(
    ({ before, after }) =>
      (before.closed === null || after.closed === before.closed) &&
      (before.presence !== 'absent' || after.presence === 'absent'),
  );
});

const startsOver = ({ before, event: { kind }, after }: Step): boolean =>
  kind === 'started over' ||
  (kind === 'learnt' && after.lookedAgain > before.lookedAgain) ||
  (kind === 'unanswered' && after.presence === 'unanswered');

test('whoever starts over knows nothing of slices that were read or given up', () => {
  always(step => {
    const { done, asked, coverAsked, tries, doubts, miscounts } = step.after;
    return !startsOver(step) || [done, asked, coverAsked, tries, doubts, miscounts].every(({ size }) => size === 0);
  });
});

const isTriedOut = ({ tries }: TaskState, slice: string): boolean => (tries.get(slice) ?? 0) >= MOST_TRIES;

test('a slice is given up after some readings that proved nothing, until it is proven, the agenda asks for it or the task starts over', () => {
  always(step => {
    const { before, event, after } = step;
    if (startsOver(step)) return true;
    if (event.kind === 'proved nothing' && event.slices.some(each => isTriedOut(after, each) && !after.done.has(each)))
      return false;
    const named = 'slices' in event ? event.slices : [];
    return [...before.tries.keys()]
      .filter(slice => isTriedOut(before, slice))
      .every(
        slice =>
          isTriedOut(after, slice) === !(event.kind === 'proven' && named.includes(slice)) &&
          (!before.done.has(slice) || after.done.has(slice) || (event.kind === 'reopened' && named.includes(slice))),
      );
  });
});

test('the first count is kept, unless it was asked for after the cover', () => {
  const count = (rows: number) => ({ kind: 'counted', rows, at: rows, windowsHoldAll: false }) as const;
  const first = applyEvent(NEW_STATE, count(100));
  expect([first.counted, applyEvent(first, count(99)).counted]).toEqual(Array(2).fill({ rows: 100, at: 100 }));
  expect(applyEvent({ ...NEW_STATE, countAsked: true }, count(99)).counted).toBe(null);
});

test('what was accepted only shrinks until more is; the first count and every pause stay', () => {
  always(
    ({ before, event, after }) =>
      after.accepted >= 0 &&
      (after.accepted <= before.accepted || (event.kind === 'accepted' && after.accepted === event.rows)) &&
      (before.counted === null || after.counted === before.counted) &&
      [...before.pauses].every(pause => after.pauses.has(pause)),
  );
});

test('a row that is shown is lacked no more', () => {
  always(
    ({ event, after }) =>
      event.kind !== 'shown' ||
      [...after.justLacked.values()].every(lacked => event.rows.every(row => !lacked.has(row))),
  );
});

const after = (events: readonly TaskEvent[]): TaskState => events.reduce(applyEvent, NEW_STATE);

function steadyAfter(...counts: [slice: string, by: number][]) {
  return steadyMiscount(after(counts.map(([slice, by]) => ({ kind: 'miscounted', slice, by }))));
}

test('a count is steadily wrong once it was off by the same number three times', () => {
  expect(steadyAfter([A, 14], [A, 14])).toBeNull();
  expect(steadyAfter([A, 14], [A, 14], [A, 14])).toEqual({ slice: A, by: 14 });
});

test('a count is steadily wrong once it did not fit the same rows three times, whatever it was', () => {
  const reading = (by: number) => [by, 'rows'].map(each => ({ kind: 'miscounted', slice: A, by: each }) as const);
  expect(steadyMiscount(after([...reading(1), ...reading(9)]))).toBeNull();
  expect(steadyMiscount(after([...reading(1), ...reading(9), ...reading(4)]))).toEqual({ slice: A, by: 'rows' });
});

test('readings that try two addresses find two numbers in turn', () => {
  const reading: [string, number][] = [
    [A, 14],
    [A, 12],
  ];
  expect(steadyAfter(...reading, ...reading, ...reading)).toEqual({ slice: A, by: 14 });
});

test('a number that differs each time, or that other slices found, shows nothing', () => {
  expect(steadyAfter([A, 14], [A, 13], [A, 15])).toBeNull();
  expect(steadyAfter([A, 14], [B, 14], ['id 9..', 14])).toBeNull();
});

test('ids that a report compares once more are no progress, so that their slice is given up in the end', () => {
  const intervals = [ids(15n, 27n), ids(28n, 40n), ids(20n, 35n), ids(15n, 27n), ids(40n, 41n)];
  const events = intervals.map((slice): TaskEvent => ({ kind: 'compared', slice, slices: [] }));
  expect(events.map((_, index) => comparedSoFar(after(events.slice(0, index + 1))))).toEqual([1, 2, 2, 2, 3]);
});

test('a slice that was given up and is proven later in the same task is in doubt no more', () => {
  const { tries } = after([
    { kind: 'given up', slices: [A, B] },
    { kind: 'proven', slices: [A] },
  ]);
  expect([...tries.keys()]).toEqual([B]);
});
