import { type Clock, DAY, HOUR, systemClock } from '../clock.ts';
import { SluiceError } from '../errors.ts';
import type { Edits, EmitEvent } from './changes/edits.ts';
import type { Change, ChangeKind } from './changes/main-changes.ts';
import type { OtherChange, OtherChangeKind } from './changes/other-changes.ts';
import { createWebhooks } from './changes/webhooks.ts';
import { dateOf, dayOf, NO_DAY } from './data/calendar.ts';
import { type Counts, type Data, type Size, sizes } from './data/data.ts';
import { createRandom, mix } from './data/random.ts';
import type { Resource, Rows } from './data/rows.ts';
import { createFaults, type Fault, type FaultRates, type PlannedFault } from './faults/choose-fault.ts';
import { createApp } from './http/app.ts';
import { listen } from './http/listen.ts';
import { createTraffic, type Stats } from './http/request-log.ts';
import { renderRow } from './lists/render-row.ts';
import { createGate } from './rate-limit/rate-limit.ts';
import { createActivity } from './timeline/activity.ts';
import { createWorlds } from './timeline/dataset.ts';
import { completeVariants, type Variants } from './variants/variants.ts';

/** The key a sandbox takes unless told otherwise; it protects nothing. */
export const SANDBOX_KEY = 'sandbox-key';

export interface SandboxOptions {
  /** The same seed, size and today give the same data. Default 1. */
  seed?: number;
  /** Default small: 150 customers, 600 invoices, 1,500 transactions. */
  size?: Size | Counts;
  /** Random changes a minute of customers, invoices and transactions, by the clock. Default 0. */
  activityPerMinute?: number;
  /** The same of products, quotes, tickets, users, orders, suppliers and purchases. Default 0. */
  otherActivityPerMinute?: number;
  /** At each midnight UTC of the source the data go back to the start and webhooks are forgotten. Default false. */
  dailyReset?: boolean;
  /** Requests per window and key; 0 switches the limit and its headers off. Default 1000. */
  rateLimit?: number;
  /** Default an hour. */
  rateWindowMs?: number;
  /** What each answer waits for, by the clock. Default 0. */
  latencyMs?: number;
  /** Default 0: any free port. */
  port?: number;
  /** Default 127.0.0.1. */
  host?: string;
  /** Default `sandbox-key`. */
  apiKey?: string;
  variants?: Partial<Variants>;
  /** How often each fault comes, e.g. `{ 'json-500': 0.05 }`; which requests it meets is decided by the seed. */
  faults?: FaultRates;
  /** Which requests go wrong, by their number. */
  faultPlan?: readonly PlannedFault[];
  clock?: Clock;
  /** The source's date at the start, YYYY-MM-DD, from where it goes on with the clock. Default the clock's. */
  today?: string;
  /** How many requests `stats.requests` keeps. Default 10,000. */
  logRequests?: number;
}

/** A running source: the API over HTTP, and for tests the rows behind it. */
export interface Sandbox {
  readonly url: string;
  readonly port: number;
  readonly apiKey: string;
  readonly data: Data;
  readonly stats: Stats;
  readonly variants: Variants;
  /** All changes made by `change`, `changeRandom` and activity, oldest first; a daily reset leaves them standing. */
  readonly changes: readonly Change[];
  /** The same for `changeOther`, `changeOthers` and activity on the other lists. */
  readonly otherChanges: readonly OtherChange[];
  /** The source's own time, in milliseconds since the epoch. */
  now(): number;
  /** The rows there are, by ascending id, with all documented fields, whatever the variants hide. */
  rows<R extends Resource>(resource: R): Iterable<Rows[R]>;
  /** Makes one change of this kind; throws when there is no row it could befall. */
  change(kind: ChangeKind): Change;
  changeRandom(count: number): Change[];
  /** Makes one change of this kind on a list other than customers, invoices and transactions. */
  changeOther(kind: OtherChangeKind): OtherChange;
  /** Random changes of those lists; what `changeRandom` does stays the same, however many there are. */
  changeOthers(count: number): OtherChange[];
  insert: Edits['insert'];
  /** Sets any fields of a row, right or wrong; undefined when there is no such row. */
  update: Edits['update'];
  remove: Edits['remove'];
  /** Brings a removed row back. */
  restore: Edits['restore'];
  /** Behaves differently from now on; the points fixed at opening are refused. */
  setVariants(variants: Partial<Variants>): void;
  /** Makes the next requests (whose path or query contains or matches `path`) go wrong; a fault of lists waits for one. */
  failNext(fault: Fault, count?: number, path?: string | RegExp): void;
  /** What is planned to go wrong goes well. */
  forgetFaults(): void;
  /** Another tool uses up requests of the same key. */
  spend(count: number): void;
  /** Resolves when the webhooks of all changes so far have been sent. */
  webhooksSent(): Promise<void>;
  close(): Promise<void>;
}

export async function openSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { seed = 1, clock = systemClock, rateLimit = 1000, rateWindowMs = HOUR, host = '127.0.0.1' } = options;
  const apiKey = options.apiKey ?? SANDBOX_KEY;
  const openedAt = clock.now();
  const startedAt = options.today === undefined ? openedAt : noonOf(options.today);
  const now = () => startedAt + (clock.now() - openedAt);
  let variants = completeVariants(options.variants);

  const webhooks = createWebhooks(() => variants.webhooks);
  let moment: number | undefined;
  const emit: EmitEvent = (event, resource, row) =>
    webhooks.emit(event, () => renderRow(resource, row, variants, false));
  const worldAt = createWorlds(
    {
      seed,
      counts: typeof options.size === 'object' ? options.size : sizes[options.size ?? 'small'],
      today: dateOf(Math.floor(startedAt / DAY)),
      moreStates: variants.states === 'more',
      undated: variants.undated === 'yes',
      beyondDouble: variants.digits === 'beyond',
      moment: () => moment ?? now(),
      emit,
      random: createRandom(mix(seed, 0xac71)),
      otherRandom: createRandom(mix(seed, 0x07e5)),
    },
    { resets: options.dailyReset ?? false, startedAt, onReset: () => webhooks.forget() },
  );
  const made: Change[] = [];
  const otherMade: OtherChange[] = [];
  const change = (at: number) => note(made, worldAt(at).changes.makeMixed(at));
  const changeOther = (at: number) => note(otherMade, worldAt(at).otherChanges.makeMixed(at));
  // A change that is caught up with bears the time it was due at.
  const belated = (make: (at: number) => unknown) => (at: number) => {
    moment = at;
    make(at);
    moment = undefined;
  };
  const activity = createActivity(
    [
      { perMinute: options.activityPerMinute ?? 0, change: belated(change) },
      { perMinute: options.otherActivityPerMinute ?? 0, change: belated(changeOther) },
    ],
    now,
  );
  const world = () => {
    // What was still due before the reset must not befall the new rows.
    if (options.dailyReset) activity.catchUp();
    return worldAt(now());
  };
  const mixed = <C>(count: number, make: (at: number) => C | undefined) => {
    world();
    return Array.from({ length: count }, () => make(now())).filter(each => each !== undefined);
  };
  const gate = createGate({ limit: rateLimit, windowMs: rateWindowMs, variants: () => variants });
  const traffic = createTraffic({ windowMs: rateWindowMs, logRequests: options.logRequests ?? 10_000 });
  const faults = createFaults({
    standing: () => variants.fault,
    seed: mix(seed, 0xfa17),
    rates: options.faults ?? {},
    plan: options.faultPlan ?? [],
  });

  const app = createApp({
    apiKey,
    clock,
    latencyMs: options.latencyMs ?? 0,
    world,
    gate,
    traffic,
    faults,
    webhooks,
    now,
    variants: () => variants,
    catchUp: () => {
      // Before the answer: what is registered after midnight is not forgotten with what was before.
      world();
      activity.catchUp();
    },
    change: () => {
      for (let index = 0; index < CHANGES_AT_ONCE; index += 1) change(now());
    },
  });
  const server = await listen(app.fetch, options.port ?? 0, host);

  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${server.port}`,
    port: server.port,
    apiKey,
    get data() {
      return world().data;
    },
    stats: traffic.stats,
    get variants() {
      return variants;
    },
    get changes() {
      activity.catchUp();
      return made;
    },
    get otherChanges() {
      activity.catchUp();
      return otherMade;
    },
    now,
    rows(resource) {
      activity.catchUp();
      return world().data[resource].rows();
    },
    change: kind => certain(kind, note(made, world().changes.make(kind, now()))),
    changeRandom: count => mixed(count, change),
    changeOther: kind => certain(kind, note(otherMade, world().otherChanges.make(kind, now()))),
    changeOthers: count => mixed(count, changeOther),
    insert: (resource, row) => world().edits.insert(resource, row),
    update: (resource, id, patch) => world().edits.update(resource, id, patch),
    remove: (resource, id) => world().edits.remove(resource, id),
    restore: (resource, id) => world().edits.restore(resource, id),
    setVariants(given) {
      const fixed = FIXED.filter(name => given[name] !== undefined && given[name] !== variants[name]);
      if (fixed.length > 0) throw new RangeError(`Fixed when the sandbox is opened: ${fixed.join(', ')}.`);
      variants = { ...variants, ...given };
    },
    failNext: (fault, count, path) => faults.failNext(fault, count, path),
    forgetFaults: () => faults.forgetPlanned(),
    spend: count => gate.spend(count, clock.now()),
    webhooksSent: () => webhooks.settled(),
    async close() {
      activity.stop();
      await server.close();
    },
  };
}

const CHANGES_AT_ONCE = 3;
const FIXED = ['rate-window', 'rejected-count', 'states', 'undated', 'digits'] as const;

function note<C>(made: C[], change: C | undefined): C | undefined {
  if (change !== undefined) made.push(change);
  return change;
}

function certain<C>(kind: string, change: C | undefined): C {
  if (change === undefined) throw new RangeError(`There is no row left for ${kind}.`);
  return change;
}

function noonOf(date: string): number {
  const day = dayOf(date);
  if (day === NO_DAY) throw new SluiceError('usage', `"${date}" is no date; expected YYYY-MM-DD.`);
  return day * DAY + 12 * HOUR;
}
