import type { Lane } from '../../budget/budget.ts';
import type { Forecast } from '../../budget/forecast.ts';
import type { Clock } from '../../clock.ts';
import type { SluiceError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Client } from '../../source/client.ts';
import type { Database } from '../../warehouse/database/database.ts';
import type { SeenTime } from '../../warehouse/database/now.ts';
import type { Order } from '../../warehouse/ledgers/orders.ts';
import type { Retention } from '../../warehouse/ledgers/retention.ts';
import type { Committer } from '../apply/committer.ts';
import type { Reader } from '../read/fetch/fetch-page.ts';
import type { Step } from '../read/step.ts';
import type { Resource } from '../resource.ts';
import type { Task } from '../task/task.ts';
import type { Agenda, AgendaMemory } from './agenda.ts';
import type { LimitSeen } from './limit-seen.ts';
import type { Waiting } from './waiting.ts';

/** A source and everything that its loop needs. */
export interface Engine {
  readonly source: string;
  readonly resources: readonly Resource[];
  readonly database: Database;
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly timeZone: string;
  readonly pageSize: number | 'auto';
  readonly concurrency: number;
  /** Requests per window of `windowMs`. */
  readonly limit: number;
  readonly windowMs: number;
  /** Requests that live readings of this engine were granted so far. */
  readonly granted: () => number;
  readonly seenTime: SeenTime;
  /** What is left of the limit. Default: all of it. */
  readonly forecast?: () => Promise<Forecast>;
  /** Work that would wait for the request limit ends with `quota` instead. Default: it waits. */
  readonly noWait?: boolean;
  /** Weight of each resource in sharing the limit. Default: 1. */
  readonly weights?: Readonly<Record<string, number>>;
  /** The mean delay, in hours, that a resource should have. Default: none. */
  readonly targets?: Readonly<Record<string, number>>;
  /** No slice stays unread for longer than so many sweeps. Default: 5. */
  readonly mostSweeps?: number;
  /** Commits of a few rows are at least so many milliseconds apart. Default 0. */
  readonly gatherMs?: number;
  /** Answers of lists with fewer rows a page are not taken for known; see `createRecall`. */
  readonly fewestKnown?: number;
  readonly retention?: Retention;
  readonly waiting: Waiting;
  /** Why this source must not be read at all; asked once nobody else can write. Everything due ends with this error. Default: it may. */
  readonly findRefusal?: () => Promise<SluiceError | null>;
  readonly onEvent?: (event: LoopEvent) => void;
}

export type LoopEvent =
  | { readonly kind: 'begun' | 'ended'; readonly task: Task; readonly state?: 'done' | 'failed' | 'stopped' | 'paused' }
  | { readonly kind: 'committed'; readonly task: Task; readonly step: Step }
  | { readonly kind: 'waiting'; readonly waitMs: number }
  /** The source is asked again once its answers can no longer lag behind what was read. */
  | { readonly kind: 'pausing'; readonly task: Task; readonly waitMs: number }
  /** The source refuses so many requests at once that fewer are sent than configured. */
  | { readonly kind: 'crowded'; readonly allowed: number; readonly concurrency: number }
  /** `came`: what was received instead of an answer. */
  | { readonly kind: 'retrying'; readonly came: string; readonly waitMs: number };

/** The state of a loop while it runs. */
export interface Loop {
  readonly engine: Engine;
  readonly committer: Committer;
  readonly readerOf: (lane: Lane) => Reader;
  /** Epoch milliseconds. */
  readonly begunAt: number;
  tasks: Task[];
  /** What it asks of its own accord; null for a loop that serves no ticks. */
  readonly agenda: Agenda | null;
  /** What was left of the limit; null before something depends on it. */
  limit: LimitSeen | null;
  readonly running: Set<Promise<void>>;
  readonly refusal: SluiceError | null;
  /** The error that stops the whole loop. */
  fatal: unknown;
}

/** What a loop reads, and how it may end. */
export interface Serves {
  readonly orders: (order: Order) => boolean;
  readonly slots: boolean;
  /** Once aborted, the loop starts nothing new and ends with the readings in progress. */
  readonly draining?: AbortSignal;
  /**
   * Between ticks, asks whatever is worth most, evenly over time at the rate that the limit allows. Holds what an earlier loop of this source left
   * behind. With `slots`; default: it asks only what ticks and orders do.
   */
  readonly agenda?: AgendaMemory;
  /**
   * Whether others of this process wait until this loop ends; it ends where it would only wait for its pace, as it does where a command waits for the
   * source. Asked at each look for work. Default: yes.
   */
  readonly othersWait?: () => boolean;
  /** Has the listener called when something may be due: the loop looks at once, and every five seconds; without, every second. */
  readonly onWoken?: (listener: () => void) => void;
  /** Ends the loop when the request limit blocks all readings for more than a minute; the next loop continues them. */
  readonly yields?: boolean;
}
