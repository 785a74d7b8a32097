import type { Counts } from '../../../sandbox/data/data.ts';
import { createRandom, mix, type Random } from '../../../sandbox/data/random.ts';
import type { BadDay } from '../../../sandbox/faults/bad-days.ts';
import { endlessFaults, type Fault, faultKinds } from '../../../sandbox/faults/fault-kinds.ts';
import type { Variants } from '../../../sandbox/variants/variants.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/clock.ts';
import { ALL, MAIN, type TestResource } from '../../support/resources.ts';
import { chooseBadDay } from './choose-bad-day.ts';
import { chooseDeclaration, type Redeclaration } from './choose-declarations.ts';
import { chooseVariants, isHonest, withOddLengths } from './choose-variants.ts';

export interface Given {
  readonly variants?: Partial<Variants>;
  /** All other points have their expected value. */
  readonly only?: boolean;
  readonly pageSize?: number | 'auto';
  /** Lists to read in addition to the large ones. Default: two that the seed chooses. */
  readonly others?: readonly TestResource[];
  /** The only fault that occurs; `none`: no fault. */
  readonly faults?: Variants['fault'];
  /** The clock of the database is put back during every action. Default: during some actions of some seeds. */
  readonly putBack?: boolean;
  /** The source answers wrongly during every action but the first. Default: during some actions of some seeds. */
  readonly badDays?: boolean;
  /** The source sends custom fields; which of them are declared or masked changes between actions, and while a process reads. */
  readonly declarations?: boolean;
  /** One request at a time and no crashes, so that a seed always sends the same requests. */
  readonly sequential?: boolean;
  /** People ask for answers of now after every other action. Default: in half of the seeds. */
  readonly questions?: boolean;
  /** Pages and cut-off lists have lengths that nobody expects. */
  readonly lengths?: boolean;
  /** So many changes come before every action but the first. Default: up to 40. */
  readonly changes?: number;
}

/** How a process ends early. */
export type Crash =
  /** All its database connections break at once: before a statement is sent, just after, or a moment later. */
  | { readonly kind: 'kill'; readonly atQuery: number; readonly moment: 'before' | 'after' | 'later' }
  /** The same while a request is in flight. */
  | { readonly kind: 'kill at request'; readonly atRequest: number }
  /** A request to stop, as from Ctrl-C. */
  | { readonly kind: 'stop'; readonly atCommit: number }
  /** Loses its lock without noticing, and continues while the next process reads. */
  | { readonly kind: 'zombie'; readonly atCommit: number };

export interface Action {
  readonly kind: 'sync' | 'slot' | 'backfill' | 'verify' | 'repair';
  readonly resources: readonly TestResource[];
  readonly range: { readonly dateFrom: string | null; readonly dateTo: string | null };
  /** Time that passes before the action. */
  readonly afterMs: number;
  /** Changes at the source before the action, and their chance after each commit. */
  readonly changes: number;
  readonly changeChance: number;
  readonly restoreChance: number;
  /** Faults in addition to the standing one, by the commit after which they occur. */
  readonly faults: readonly { readonly atCommit: number; readonly fault: Fault; readonly count: number }[];
  /** One for each process that serves the action; the process after the last one is left alone. */
  readonly crashes: readonly Crash[];
  /** Requests that another tool spends before the action. */
  readonly spent: number;
  /** A second process tries to read beside the first. */
  readonly rival: boolean;
  /** How far the clock of the database is put back, and after which commit; null where it is not. */
  readonly putBack: { readonly atCommit: number; readonly ms: number } | null;
  /** What the source answers wrongly during the action; null where it is sound. */
  readonly badDay: BadDay | null;
  /** Other declarations of custom fields, lists and masks from this action on; null where they stay. */
  readonly redeclaration: Redeclaration | null;
}

export interface Plan {
  readonly seed: number;
  readonly startIso: string;
  readonly counts: Counts;
  readonly others: readonly TestResource[];
  readonly variants: Partial<Variants>;
  /** The same as the source plays them. */
  readonly played: Partial<Variants>;
  readonly limit: number;
  readonly windowMs: number;
  readonly concurrency: number;
  /** Small pages split even these small lists into many windows and intervals. */
  readonly pageSize: number | 'auto';
  readonly timeoutMs: number;
  /** Its services ask between ticks. */
  readonly asks: boolean;
  readonly actions: readonly Action[];
  /** At the end, a repair must bring in further changes. */
  readonly repairs: boolean;
  /** People ask for answers of now in between. */
  readonly questions: boolean;
  /** The source sends custom fields, and some are declared. */
  readonly declares: boolean;
}

/** The turn of a year, a leap day, the end of a month, and an ordinary day. */
const STARTS = ['2025-12-31T23:58:30Z', '2024-02-29T12:00:00Z', '2026-01-31T23:50:00Z', '2026-01-15T10:00:00Z'];
export const OTHERS = ALL.filter(name => !MAIN.some(each => each === name));
/** Faults that may occur anywhere. Responses of 256 MB take seconds each; only `--each` plays them. */
const PASSING = (Object.keys(faultKinds) as Fault[]).filter(fault => !isEndless(fault) && !isHuge(fault));

export function isHuge(fault: string | undefined): boolean {
  return fault?.startsWith('huge') ?? false;
}

/** Whether responses never end. Waiting for their time-out takes real time. */
export function isEndless(fault: string | undefined): boolean {
  return endlessFaults.some(each => each === fault);
}

/** Everything that a seed decides. The same seed and givens make the same plan; the timing of requests is up to the machine. */
export function planOf(seed: number, given: Given = {}): Plan {
  const random = createRandom(mix(seed, 0x51a1));
  const others = given.others ?? othersOf(seed);
  const chosen = given.only
    ? { ...given.variants }
    : chooseVariants(random, given.variants ?? {}, { others: others.length > 0, seed });
  const variants = { ...chosen, ...(given.faults ? { fault: given.faults } : {}) };
  if (isHuge(variants.fault) && !given.faults && !given.variants?.fault) variants.fault = 'none';
  const hourly = random.chance(0.08);
  const limit = hourly ? random.int(150, 1000) : random.int(20, 400);
  const windowMs = hourly ? HOUR : random.int(10, 60) * SECOND;
  const startIso = random.pick(STARTS);
  const counts = {
    customers: random.int(10, 150),
    invoices: random.int(30, 320),
    transactions: random.int(50, 640),
  };
  const concurrency = random.pick([1, 2, 4, 4, 8]);
  return {
    seed,
    startIso,
    counts,
    others,
    variants,
    played: given.lengths ? withOddLengths(seed, variants) : variants,
    limit,
    windowMs,
    concurrency: given.sequential ? 1 : concurrency,
    pageSize: given.pageSize ?? pageSizeOf(seed, variants),
    timeoutMs: isEndless(variants.fault) ? 400 : 30_000,
    // A separate random stream, so that adding this changed no plan.
    asks: createRandom(mix(seed, 0x9ace)).chance(0.5),
    repairs: given.only === true || random.chance(0.15),
    questions: !given.sequential && (given.questions ?? createRandom(mix(seed, 0x9a5c)).chance(0.5)),
    declares: given.declarations === true,
    actions: Array.from({ length: random.int(2, 5) }, (_, index) => {
      const putBack = putBackOf(seed, index, given);
      const action = actionOf(random, { first: index === 0, faults: given.faults, shared: limit, others });
      const badDay = badDayOf(seed, index, given, action.resources);
      const redeclaration = redeclarationOf(seed, index, { given, read: [...MAIN, ...others], variants });
      const busily = given.changes && index > 0 ? { changes: given.changes } : {};
      return { ...action, ...busily, putBack, badDay, redeclaration, ...(given.sequential ? steadily(action) : {}) };
    }),
  };
}

/** Nothing happens at a commit, as the next request may be on its way by then, or not. */
const steadily = ({ faults }: Pick<Action, 'faults'>): Partial<Action> => ({
  crashes: [],
  rival: false,
  changeChance: 0,
  faults: faults.map(fault => ({ ...fault, atCommit: 0 })),
});

/** One seed in ten has such steps. Those that name their variants stay without them, as without points that were added later. */
function putBackOf(seed: number, index: number, { putBack, variants, sequential }: Given): Action['putBack'] {
  // A separate random stream, so that adding this changed no plan.
  const random = createRandom(mix(mix(seed, 0xc10c), index));
  const isChosen = createRandom(mix(seed, 0xbac7)).chance(0.1) && random.chance(0.5);
  if (!(putBack ?? (isChosen && variants === undefined && !sequential))) return null;
  return { atCommit: random.int(1, 12), ms: random.pick([5 * SECOND, MINUTE, 20 * MINUTE, 3 * HOUR, DAY, 9 * DAY]) };
}

/** One seed in ten has such actions, chosen as those of `putBackOf`. */
function badDayOf(
  seed: number,
  index: number,
  { badDays: always, variants, sequential }: Given,
  read: readonly TestResource[],
): BadDay | null {
  // A separate random stream, so that adding this changed no plan.
  const random = createRandom(mix(mix(seed, 0xbadda), index));
  const isChosen = createRandom(mix(seed, 0xbad)).chance(0.1) && random.chance(0.5);
  if (index === 0 || !(always ?? (isChosen && variants === undefined && !sequential))) return null;
  return chooseBadDay(random, read);
}

/** Before the first action, and before or during most of the others. */
function redeclarationOf(
  seed: number,
  index: number,
  { given, read, variants }: { given: Given; read: readonly TestResource[]; variants: Partial<Variants> },
): Action['redeclaration'] {
  // A separate random stream, as for `putBackOf`.
  const random = createRandom(mix(mix(seed, 0xdec1), index));
  const isChosen = index === 0 || random.chance(0.7);
  if (!given.declarations || !isChosen) return null;
  const atCommit = index > 0 && random.chance(0.4) ? random.int(1, 12) : null;
  // What a file declared once is never masked after its list is declared no more.
  const hasOwn = createRandom(mix(seed, 0xdec2)).chance(0.6);
  return { declaration: chooseDeclaration(random, { read, variants, hasOwn }), atCommit };
}

/** Two of the other lists. Months take some seventy requests a reading, so only one seed in 25 has them. */
function othersOf(seed: number): TestResource[] {
  // A separate random stream, so that adding this changed no plan.
  const random = createRandom(mix(seed, 0x07e5));
  const lists = OTHERS.filter(name => name !== 'financial_summaries');
  const first = random.pick(lists);
  return [first, random.chance(0.04) ? 'financial_summaries' : random.pick(lists.filter(name => name !== first))];
}

/** Small pages look like a source with a small maximum, so combinations excluded under that maximum get no small pages. */
function pageSizeOf(seed: number, variants: Partial<Variants>): number | 'auto' {
  // A separate random stream, so that adding this changed no plan.
  const size = createRandom(mix(seed, 0x9a6e)).pick(['auto', 'auto', 'auto', 10, 20, 500] as const);
  return isHonest({ ...variants, 'limit-max': '20-reject' }) || !isHonest(variants) ? size : 'auto';
}

function actionOf(
  random: Random,
  {
    first,
    faults,
    shared,
    others,
  }: { first: boolean; faults: Variants['fault'] | undefined; shared: number; others: readonly TestResource[] },
): Omit<Action, 'putBack' | 'badDay' | 'redeclaration'> {
  const all = random.chance(0.7);
  const bounded = random.chance(0.7);
  return {
    kind: first
      ? random.pick(['sync', 'sync', 'slot', 'backfill'])
      : random.pick(['sync', 'sync', 'slot', 'slot', 'backfill', 'verify', 'repair']),
    resources: all ? [...MAIN, ...others] : [random.pick(MAIN)],
    range: bounded ? rangeOf(random) : { dateFrom: null, dateTo: null },
    afterMs: first ? 0 : random.pick([0, 30 * SECOND, 20 * MINUTE, 3 * HOUR, DAY, 33 * DAY]),
    changes: first ? 0 : random.pick([0, 0, 5, 20, 40]),
    changeChance: random.pick([0, 0.05, 0.2]),
    restoreChance: random.pick([0, 0, 0.3]),
    faults:
      faults !== undefined || random.chance(0.5)
        ? []
        : Array.from({ length: random.int(1, 3) }, () => ({
            atCommit: random.int(0, 12),
            fault: random.pick(PASSING),
            count: random.int(1, 3),
          })),
    crashes: Array.from({ length: random.pick([0, 0, 1, 1, 2, 4]) }, () => crashOf(random)),
    spent: random.chance(0.1) ? random.int(1, shared) : 0,
    rival: random.chance(0.3),
  };
}

function rangeOf(random: Random): Action['range'] {
  const day = () => `${random.int(2021, 2026)}-${String(random.int(1, 12)).padStart(2, '0')}-15`;
  const [from, to] = [day(), day()].sort() as [string, string];
  return { dateFrom: random.chance(0.8) ? from : null, dateTo: random.chance(0.8) ? to : null };
}

function crashOf(random: Random): Crash {
  const soon = random.chance(0.5) ? 30 : 400;
  const dice = random.next();
  if (dice < 0.5)
    return { kind: 'kill', atQuery: random.int(1, soon), moment: random.pick(['before', 'after', 'later']) };
  if (dice < 0.7) return { kind: 'kill at request', atRequest: random.int(1, Math.ceil(soon / 8)) };
  if (dice < 0.8) return { kind: 'stop', atCommit: random.int(1, Math.ceil(soon / 12)) };
  return { kind: 'zombie', atCommit: random.int(1, Math.ceil(soon / 12)) };
}

/** The command that replays a seed. */
export function replay(
  seed: number,
  { variants, only, faults, pageSize, others, putBack, badDays, lengths, declarations, changes }: Given,
): string {
  const points = Object.entries(variants ?? {}).map(([name, value]) => `${name}=${value}`);
  const flags = [
    points.length > 0 ? `--variant ${points.join(',')}` : '',
    only ? '--only' : '',
    faults ? `--faults ${faults}` : '',
    pageSize ? `--page-size ${pageSize}` : '',
    others ? `--others ${others.join(',') || 'none'}` : '',
    putBack ? '--put-back' : '',
    badDays ? '--bad-days' : '',
    lengths ? '--lengths' : '',
    declarations ? '--declarations' : '',
    changes ? `--changes ${changes}` : '',
  ];
  return ['npm run simulate -- --seeds 1 --seed', seed, ...flags.filter(Boolean)].join(' ');
}

/** The standing fault of the source, if there is one. */
export const faultOf = ({ variants }: Plan) => (variants.fault === 'none' ? undefined : variants.fault);

/** Rows that the source shows in one answer, at least. */
export function rowsPerRequest({ variants, played, pageSize }: Plan): number {
  const said = Number(played['limit-max']?.match(/\d+/)?.[0] ?? (played['limit-max'] === 'ignored' ? 20 : 100));
  const most = Math.min(said, 100);
  const asked = pageSize === 'auto' ? most : Math.min(pageSize, most);
  // Half of the rows are taken out of pages.
  return variants.pages === 'thinned' ? asked / 2 : asked;
}
