import { HOUR } from '../../src/clock.ts';
import type { Outcome } from './judge.ts';

/** Delays in hours. */
export interface Figures {
  readonly n: number;
  readonly mean: number;
  readonly median: number;
  readonly p99: number;
  readonly worst: number;
  /** Changes not shown until the end. They count with the time until then, so with any the other figures are lower bounds. */
  readonly unseen: number;
}

/** `endMs`: until when the copy was watched. Without outcomes, all delays are NaN. */
export function figuresOf(outcomes: readonly Outcome[], endMs: number): Figures {
  const delays = outcomes.map(({ change, seenAt }) => ((seenAt ?? endMs) - change.at) / HOUR).sort((a, b) => a - b);
  const n = delays.length;
  const quantile = (share: number) => delays[Math.min(Math.floor(share * n), n - 1)] ?? Number.NaN;
  return {
    n,
    mean: delays.reduce((sum, delay) => sum + delay, 0) / n,
    median: quantile(0.5),
    p99: quantile(0.99),
    worst: quantile(1),
    unseen: outcomes.filter(({ seenAt }) => seenAt === null).length,
  };
}
