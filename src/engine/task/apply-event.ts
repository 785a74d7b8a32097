import { isKind, type SluiceError } from '../../errors.ts';
import type { Choice } from '../agenda/choice.ts';
import type { Counted } from '../coverage/hidden-rows.ts';
import { uncovered } from '../slices/id-ranges.ts';
import { type Slice, sliceText } from '../slices/slice.ts';
import { type Miscount, MOST_TRIES, NEW_STATE, type TaskState } from './task-state.ts';

/** What a sync may read again: everything, or what so many requests pay for; null: nothing, as nothing is left of the limit. */
export type Share = 'everything' | number | null;

/** By their text. */
type Slices = { readonly slices: readonly string[] };
/** By their key. */
type Rows = { readonly rows: readonly string[] };
type Requests = { readonly requests: number };

/** Bounds the attempts on a source that keeps changing its behaviour. */
export const MOST_NEW_LOOKS = 5;

const { done, asked, coverAsked, countAsked, tries, doubts, miscounts } = NEW_STATE;
/** All slices are open again, including those that were done or given up. */
const STARTED_OVER: Partial<TaskState> = { done, asked, coverAsked, countAsked, tries, doubts, miscounts };

/** Everything that may happen to a task: what each event carries, and what it changes. No event is without a rule. */
export const EVENTS = {
  /** It was decided how much a sync reads again. */
  'share taken': ({ allowance, closed }, { share }: { readonly share: Share }) => ({
    readsAll: share === 'everything',
    allowance: typeof share === 'number' ? share : allowance,
    closed: share === null ? (closed ?? 'nothing left') : closed,
  }),
  /** A reading starts. `targets`: what hints point to beside it. What its choice asks beside the slice is asked once. */
  asked: (state, { choice, targets }: { readonly choice: Choice; readonly targets: readonly Slice[] }) => {
    const { slice, asks, confirmsFrom } = choice;
    const text = [sliceText(slice)];
    const beginsCover = confirmsFrom !== undefined && confirmsFrom > (state.covers.at(-1) ?? 0);
    const taken = { targets, ...(beginsCover && { covers: [...state.covers, confirmsFrom] }) };
    if (asks === 'count') return { ...taken, countAsked: true };
    if (asks === 'cover' || asks === 'all') return { ...taken, coverAsked: withAll(state.coverAsked, text) };
    if (asks === 'length') return { ...taken, done: withAll(state.done, text) };
    return typeof asks === 'object' ? { ...taken, asked: withAll(state.asked, [asks.row]) } : taken;
  },
  /** The agenda asks for slices that were read or given up before. */
  reopened: ({ done }, { slices }: Slices) => ({ done: without(done, slices) }),
  /** A reading that counts against the allowance sent requests. */
  spent: ({ allowance }, { requests }: Requests) => ({ allowance: allowance - requests }),
  /** Another sync ended and left a share of its allowance. */
  'allowance left': ({ allowance }, { requests }: Requests) => ({ allowance: allowance + requests }),
  /** The reading that a hint asked for stopped with the whole loop. */
  'target returned': ({ targets }, { slice }: { readonly slice: Slice }) => ({ targets: [slice, ...targets] }),
  /** Nothing more is asked of these slices: they were read, or their reading failed. */
  done: ({ done }, { slices }: Slices) => ({ done: withAll(done, slices) }),
  /** A report has compared a slice, and with it these slices of the list. Ids that were compared before are no progress. */
  compared: ({ done, intervals }, { slice, slices }: Slices & { readonly slice: Slice }) => ({
    done: withAll(done, slices),
    intervals: slice.by === 'id' && uncovered(slice, intervals).length > 0 ? [...intervals, slice] : intervals,
  }),
  /** A reading that was started for these slices showed nothing about them. After some attempts they are given up. */
  'proved nothing': (state, { slices }: Slices) => {
    const tries = new Map(state.tries);
    for (const slice of slices) tries.set(slice, (tries.get(slice) ?? 0) + 1);
    const isGivenUp = (slice: string) => (tries.get(slice) ?? 0) >= MOST_TRIES;
    return { tries, done: withAll(state.done, slices.filter(isGivenUp)) };
  },
  /** Further readings of these slices would prove nothing either. */
  'given up': ({ tries }, { slices }: Slices) => ({
    tries: new Map([...tries, ...slices.map(slice => [slice, MOST_TRIES] as const)]),
  }),
  /** A reading showed these slices in full: what was given up has added up after all. */
  proven: ({ tries }, { slices }: Slices) => ({
    tries: new Map([...tries].filter(([slice]) => !slices.includes(slice))),
  }),
  /** The count of a slice did not fit the rows that it showed. `by`: how many more it counted, or a digest of these rows. */
  miscounted: ({ miscounts }, { slice, by }: Miscount) => {
    const counts = miscounts.get(slice) ?? new Map<Miscount['by'], number>();
    return { miscounts: new Map(miscounts).set(slice, new Map(counts).set(by, (counts.get(by) ?? 0) + 1)) };
  },
  /** What the task shows of the list's counts is about to be stored. */
  'counts judged': () => ({ miscounts: NEW_STATE.miscounts, countJudged: true }),
  /** Windows asked for by just these days lacked rows of them: the next are asked for with a day more. */
  'edges doubted': (state, { edges }: { readonly edges: readonly string[] }) => ({
    doubtedEdges: withAll(state.doubtedEdges, edges),
  }),
  /** Rows that a reading of the slice had lacked were shown. They may be asked for again. */
  contradicted: ({ doubts, asked }, { slice, rows }: Rows & { readonly slice: string }) => ({
    doubts: new Map(doubts).set(slice, (doubts.get(slice) ?? 0) + 1),
    asked: without(asked, rows),
  }),
  /** A reading of these slices lacked rows that had just been stored. */
  'just lacked': ({ justLacked }, { slices, rows }: Slices & Rows) => ({
    justLacked: new Map([...justLacked, ...slices.map(slice => [slice, new Set(rows)] as const)]),
  }),
  /** A page showed rows. */
  shown: ({ justLacked }, { rows }: Rows) => ({
    justLacked: new Map([...justLacked].map(([slice, lacked]) => [slice, without(lacked, rows)])),
  }),
  /** An answer tells how many rows the list has. The one that was asked for after the cover is compared with the first. */
  counted: ({ counted, countAsked }, { rows, at, windowsHoldAll }: Counted & { readonly windowsHoldAll: boolean }) => ({
    counted: counted ?? (countAsked ? null : { rows, at }),
    windowsHoldAllAt: windowsHoldAll ? at : null,
  }),
  /** So many rows were deleted. */
  deleted: ({ accepted }, { rows }: { readonly rows: number }) => ({ accepted: Math.max(accepted - rows, 0) }),
  /** Its order accepts that so many more rows are deleted. What was held back may be asked for again. */
  accepted: ({ accepted, failure }, { rows }: { readonly rows: number }) => {
    if (rows <= accepted) return {};
    return { accepted: rows, ...(isKind(failure, 'fuse') && { failure: null, asked, coverAsked }) };
  },
  /** More is known of the list: slices that did not add up may do so now. */
  learnt: ({ lookedAgain }) => (lookedAgain < MOST_NEW_LOOKS ? { ...STARTED_OVER, lookedAgain: lookedAgain + 1 } : {}),
  /** Its slices fit what is known of the list no more, and were dropped. */
  'slices dropped': ({ drops }) => ({ drops: drops + 1 }),
  /** The list is read in another way from now on. */
  'started over': () => STARTED_OVER,
  /** The task waits until this moment (epoch ms), when answers no longer lag. */
  paused: ({ pauses }, { until }: { readonly until: number }) => ({ pauses: withAll(pauses, [until]) }),
  /** The list answered 404, and no other list has been answered yet. */
  unanswered: ({ presence }) => (presence === 'absent' ? {} : { ...STARTED_OVER, presence: 'unanswered' }),
  /** Another list was answered: the address is right. */
  'others answered': ({ presence }) => ({ presence: presence === 'unanswered' ? 'assumed' : presence }),
  /** The source does not offer the list. */
  'found absent': () => ({ presence: 'absent' }),
  /** Something failed. Later failures follow from the first. */
  failed: ({ failure }, { error }: { readonly error: SluiceError }) => ({ failure: failure ?? error }),
  /** At the end of the task, more rows are missing than may be deleted; the number to accept must be enough for all of them. */
  'held back': ({ failure }, { error }: { readonly error: SluiceError }) => ({
    failure: failure === null || isKind(failure, 'fuse') ? error : failure,
  }),
  /** A question of the agenda failed, and the run of the last tick says so. The agenda goes on. */
  'failure reported': () => ({ failure: null }),
  /** Nothing more starts. The first reason stays. */
  closed: ({ closed }, { why }: { readonly why: Exclude<TaskState['closed'], null> }) => ({ closed: closed ?? why }),
} satisfies Record<string, (state: TaskState, event: never) => Partial<TaskState>>;

type Carried<Rule> = Rule extends (state: TaskState, event: infer Event extends object) => unknown ? Event : unknown;

export type TaskEvent = {
  [Kind in keyof typeof EVENTS]: { readonly kind: Kind } & Carried<(typeof EVENTS)[Kind]>;
}[keyof typeof EVENTS];

/** The state of a task after an event. */
export function applyEvent(state: TaskState, event: TaskEvent): TaskState {
  const changed = EVENTS[event.kind] as (state: TaskState, event: TaskEvent) => Partial<TaskState>;
  return { ...state, ...changed(state, event) };
}

// Sets are copied for each event: they hold some thousand slices at most, and a reading changes them once.
const withAll = <T>(known: ReadonlySet<T>, more: readonly T[]): ReadonlySet<T> => new Set([...known, ...more]);

function without<T>(known: ReadonlySet<T>, some: readonly T[]): ReadonlySet<T> {
  if (!some.some(each => known.has(each))) return known;
  const gone = new Set(some);
  return new Set([...known].filter(each => !gone.has(each)));
}
