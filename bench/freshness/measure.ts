import { DAY, HOUR } from '../../src/clock.ts';
import { PAGE_ROWS, REQUESTS_PER_HOUR, SIZES, type SizeName, START_MS, STREAM } from './parameters.ts';
import { cellsOf } from './policies/cells.ts';
import { evenSweep } from './policies/even-sweep.ts';
import { lookBack } from './policies/look-back.ts';
import { optimal } from './policies/optimal.ts';
import { optimumOf } from './policies/optimum.ts';
import type { Policy } from './policy.ts';
import type { Measured, Measurement } from './report.ts';
import { type Run, simulate } from './simulate.ts';
import type { Phase } from './stream/habits.ts';
import { createStream, type Stream, type StreamOptions } from './stream/stream.ts';

/** One stream, and when it is watched. */
export interface Plan {
  readonly size: SizeName;
  readonly days: number;
  readonly seed: number;
  readonly stream: StreamOptions;
  readonly run: Run;
  readonly phases?: readonly Phase[];
}

/** After the measured days, changes are waited for as long as so many even sweeps take, or longer. */
const SWEEPS_AFTER = 5;

export function planOf(
  size: SizeName,
  options: {
    readonly days: number;
    readonly warmUpDays: number;
    /** The least time after the measured days. */
    readonly afterMs: number;
    readonly seed: number;
    readonly times: number;
    readonly phases?: readonly Phase[];
    /** Default: a Monday. */
    readonly startMs?: number;
  },
): Plan {
  const { days, seed, times, phases, startMs = START_MS } = options;
  const counts = SIZES[size];
  const measuredFromMs = startMs + options.warmUpDays * DAY;
  const measuredToMs = measuredFromMs + days * DAY;
  const rows = counts.customers + counts.invoices + counts.transactions;
  const sweepMs = (rows / PAGE_ROWS / REQUESTS_PER_HOUR) * HOUR;
  const endMs = measuredToMs + Math.max(SWEEPS_AFTER * sweepMs, options.afterMs);
  const stream = { counts, seed, parameters: { ...STREAM, times }, startMs };
  return {
    size,
    days,
    seed,
    stream: { ...stream, ...(phases ? { phases, phasesFromMs: measuredFromMs } : {}) },
    run: { startMs, measuredFromMs, measuredToMs, endMs, requestsPerHour: REQUESTS_PER_HOUR },
    ...(phases ? { phases } : {}),
  };
}

/** Lets each policy on paper read the same stream. `others`: what else was measured on it. */
export function measure(plan: Plan, others: readonly Measured[] = []): Measurement {
  const { size, days, seed, stream, run, phases } = plan;
  const { counts, parameters } = stream;
  const onPaper = (create: (stream: Stream) => Policy): Measured => {
    const opened = createStream(stream);
    const policy = create(opened);
    return { policy: policy.name, result: simulate(policy, opened, run) };
  };
  const best = onPaper(({ rows }) => optimal({ rows, stream, requestsPerHour: run.requestsPerHour }));
  const middleHours = (run.measuredFromMs + run.measuredToMs - 2 * run.startMs) / 2 / HOUR;
  return {
    size,
    days,
    seed,
    optimum: optimumOf(cellsOf(counts, parameters, middleHours), run.requestsPerHour).meanDelay,
    measured: [onPaper(() => evenSweep(run.requestsPerHour)), onPaper(lookBack), best, ...others],
    best,
    ...(phases ? { phases } : {}),
    measuredFromMs: run.measuredFromMs,
  };
}
