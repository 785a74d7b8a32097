import { type Clock, DAY, HOUR, systemClock } from '../src/clock.ts';
import { SluiceError } from '../src/errors.ts';
import type { Edits } from './changes/edits.ts';
import type { Change, ChangeKind } from './changes/main-changes.ts';
import type { OtherChange, OtherChangeKind } from './changes/other-changes.ts';
import { createWebhooks, type Webhooks } from './changes/webhooks.ts';
import { dateOf, dayOf, NO_DAY } from './data/calendar.ts';
import { type Counts, type Data, type Size, sizes } from './data/data.ts';
import { mix } from './data/random.ts';
import type { Resource, Rows } from './data/rows.ts';
import type { BadDay } from './faults/bad-days.ts';
import { createFaultChooser, type FaultRates, type PlannedFault } from './faults/choose-fault.ts';
import type { Fault } from './faults/fault-kinds.ts';
import { createApp } from './http/app.ts';
import { listen } from './http/listen.ts';
import { createRequestLog, type Stats } from './http/request-log.ts';
import { type AddFields, renderRow } from './lists/render-row.ts';
import { createRateLimit } from './rate-limit/rate-limit.ts';
import { createTimeline, type Timeline } from './timeline/timeline.ts';
import { createVariantState, type VariantState, type Variants } from './variants/variants.ts';

/** The default key; it protects nothing. */
export const SANDBOX_KEY = 'sandbox-key';

export interface SandboxOptions {
  /** The same seed, size and today give the same data. Default 1. */
  seed?: number;
  /** Default small: 150 customers, 600 invoices, 1,500 transactions. */
  size?: Size | Counts;
  /** Random changes of customers, invoices and transactions per minute of the clock. Default 0. */
  activityPerMinute?: number;
  /** The same for products, quotes, tickets, users, orders, suppliers and purchases. Default 0. */
  otherActivityPerMinute?: number;
  /** At midnight UTC the data returns to its initial state and webhooks are forgotten. Default false. */
  dailyReset?: boolean;
  /** Requests per window and key; 0 switches the limit and its headers off. Default 1000. */
  rateLimit?: number;
  /** Default one hour. */
  rateWindowMs?: number;
  /** Delay of every response, by the clock. Default 0. */
  latencyMs?: number;
  /** Default 0: any free port. */
  port?: number;
  /** Default 127.0.0.1. */
  host?: string;
  /** Default `sandbox-key`. */
  apiKey?: string;
  variants?: Partial<Variants>;
  /** Adds fields of the installation's own to the rows of lists and to single customers. Default: none. */
  addFields?: AddFields;
  /** The probability of each fault, e.g. `{ 'json-500': 0.05 }`; the seed decides which requests fail. */
  faults?: FaultRates;
  /** Faults of requests by their number. */
  faultPlan?: readonly PlannedFault[];
  clock?: Clock;
  /** The source's date at the start, YYYY-MM-DD; it advances with the clock. Default: the clock's date. */
  today?: string;
  /** How many requests `stats.requests` keeps. Default 10,000. */
  logRequests?: number;
}

/** A running source: the API over HTTP and, for tests, the rows behind it. */
export interface Sandbox {
  readonly url: string;
  readonly port: number;
  readonly apiKey: string;
  readonly data: Data;
  readonly stats: Stats;
  readonly variants: Variants;
  /** All changes made by `change`, `changeRandom` and activity, oldest first; a daily reset does not clear them. */
  readonly changes: readonly Change[];
  /** The same for `changeOther`, `changeOthers` and activity on the other lists. */
  readonly otherChanges: readonly OtherChange[];
  /** The source's time, in milliseconds since the epoch. */
  now(): number;
  /** The live rows by ascending id, with all documented fields whatever the variants. */
  rows<R extends Resource>(resource: R): Iterable<Rows[R]>;
  /** Makes one change of this kind; throws if no row qualifies. */
  change(kind: ChangeKind): Change;
  changeRandom(count: number): Change[];
  /** Makes one change of this kind on a list other than customers, invoices and transactions. */
  changeOther(kind: OtherChangeKind): OtherChange;
  /** Random changes of those lists; they do not affect the results of `changeRandom`. */
  changeOthers(count: number): OtherChange[];
  insert: Edits['insert'];
  /** Sets any fields of a row, valid or not; returns undefined if the row does not exist. */
  update: Edits['update'];
  remove: Edits['remove'];
  /** Brings a removed row back. */
  restore: Edits['restore'];
  /** Changes variants from now on; throws for those fixed at opening. */
  setVariants(variants: Partial<Variants>): void;
  /** From now on the rows of a list are wrong in this way; null: right again. */
  setBadDay(badDay: BadDay | null): void;
  /** Plans a fault for the next requests whose path and query match `path`; list faults wait for a list. */
  failNext(fault: Fault, count?: number, path?: string | RegExp): void;
  /** Removes all planned faults. */
  forgetFaults(): void;
  /** Counts requests of another tool with the same key. */
  spend(count: number): void;
  /** Resolves when the webhooks of all changes so far were sent. */
  webhooksSent(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a sandbox; close it to free the port. Errors of kind `usage`: an invalid date, or a port that cannot be used. */
export async function openSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { seed = 1, clock = systemClock, host = '127.0.0.1', apiKey = SANDBOX_KEY } = options;
  const { rateLimit: limit = 1000, rateWindowMs: windowMs = HOUR, latencyMs = 0 } = options;
  const { addFields = (_resource, _row, rendered) => rendered } = options;
  const variants = createVariantState(options.variants);
  const webhooks = createWebhooks(() => variants.current().webhooks);
  const timeline = startTimeline({ ...options, seed, clock }, variants, webhooks);
  const rateLimit = createRateLimit({ limit, windowMs, variants: variants.current });
  const log = createRequestLog({ windowMs, logRequests: options.logRequests ?? 10_000 });
  const faults = createFaultChooser({
    periodic: () => variants.current().fault,
    seed: mix(seed, 0xfa17),
    rates: options.faults ?? {},
    plan: options.faultPlan ?? [],
  });
  let badDay: BadDay | null = null;
  const parts = { rateLimit, log, faults, webhooks, timeline, badDay: () => badDay, addFields };
  const app = createApp({ apiKey, clock, latencyMs, ...parts, variants: variants.current });
  const server = await listen(app.fetch, options.port ?? 0, host);

  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${server.port}`,
    port: server.port,
    apiKey,
    get data() {
      return timeline.dataset().data;
    },
    stats: log.stats,
    get variants() {
      return variants.current();
    },
    get changes() {
      timeline.catchUp();
      return timeline.changes;
    },
    get otherChanges() {
      timeline.catchUp();
      return timeline.otherChanges;
    },
    ...dataControls(timeline),
    setVariants: variants.change,
    setBadDay: given => {
      badDay = given;
    },
    failNext: faults.plan,
    forgetFaults: faults.clearPlan,
    spend: count => rateLimit.spend(count, clock.now()),
    webhooksSent: webhooks.settled,
    async close() {
      timeline.stop();
      await server.close();
    },
  };
}

function startTimeline(
  options: SandboxOptions & { seed: number; clock: Clock },
  variants: VariantState,
  webhooks: Webhooks,
): Timeline {
  const { seed, clock, size = 'small', today } = options;
  const { states, undated, digits, dates, 'new-ids': newIds, backdated } = variants.current();
  const openedAt = clock.now();
  const startedAt = today === undefined ? openedAt : noonOf(today);
  return createTimeline({
    data: {
      seed,
      counts: typeof size === 'object' ? size : sizes[size],
      today: dateOf(Math.floor(startedAt / DAY)),
      moreStates: states === 'more',
      undated: undated === 'yes',
      beyondDouble: digits === 'beyond',
      farDates: dates === 'far',
      datesInOrder: backdated === 'none',
      reissuedIds: newIds === 'reissued',
    },
    now: () => startedAt + (clock.now() - openedAt),
    startedAt,
    emit: (event, resource, row) => webhooks.emit(event, () => renderRow(resource, row, variants.current(), false)),
    activityPerMinute: options.activityPerMinute ?? 0,
    otherActivityPerMinute: options.otherActivityPerMinute ?? 0,
    dailyReset: options.dailyReset ?? false,
    onReset: webhooks.clear,
  });
}

type DataControl =
  | 'now'
  | 'rows'
  | 'change'
  | 'changeRandom'
  | 'changeOther'
  | 'changeOthers'
  | Exclude<keyof Edits, 'asOf'>;

/** What a test does with the rows. */
function dataControls(timeline: Timeline): Pick<Sandbox, DataControl> {
  const { now, change, changeRandom, changeOther, changeOthers } = timeline;
  const edits = () => timeline.dataset().edits;
  return {
    now,
    rows(resource) {
      timeline.catchUp();
      return timeline.dataset().data[resource].rows();
    },
    change,
    changeRandom,
    changeOther,
    changeOthers,
    insert: (resource, row) => edits().insert(resource, row),
    update: (resource, id, patch) => edits().update(resource, id, patch),
    remove: (resource, id) => edits().remove(resource, id),
    restore: (resource, id) => edits().restore(resource, id),
  };
}

function noonOf(date: string): number {
  const day = dayOf(date);
  if (day === NO_DAY) throw new SluiceError('usage', `Invalid date "${date}"; expected YYYY-MM-DD.`);
  return day * DAY + 12 * HOUR;
}
