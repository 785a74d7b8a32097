import { setTimeout as delay } from 'node:timers/promises';
import type { Db } from '../../warehouse/database/database.ts';
import type { CoverageChange } from '../coverage/prove.ts';
import { groupBy } from '../group-by.ts';
import type { Committed, Step } from '../read/step.ts';
import type { Resource } from '../resource.ts';
import { stopsSource } from '../task/task.ts';
import { isBadData } from './bad-data.ts';
import { type CommitOptions, commit } from './commit.ts';
import { commitCoverage } from './commit-coverage.ts';

/** Writes one transaction at a time: each commits the steps that arrived since the previous one. */
export interface Committer {
  /**
   * Resolves once the step is durable. Rejects if its transaction failed; then nothing of the step was written, nor of later ones of the
   * same `reading`: without it, they would seem to prove that its rows were deleted.
   */
  add(step: Step, reading: object): Promise<Committed>;
  /** Changes the coverage of a list between two commits, since each of them replaces what memory holds of it. See `commitCoverage`. */
  change(resource: Resource, decide: () => Partial<CoverageChange>, also?: (tx: Db) => Promise<void>): Promise<void>;
  /** A transaction between two commits: what both write and number would lock each other out. */
  between(work: (tx: Db) => Promise<void>): Promise<void>;
}

/** Rows in one commit. The bound keeps memory flat and a stop quick. */
const MOST_ROWS = 5000;
/** A commit of more gains nothing by waiting for others. */
const FEW_ROWS = 1000;

interface Waiting {
  readonly step: Step;
  readonly reading: object;
  readonly resolve: (done: Committed) => void;
  readonly reject: (error: unknown) => void;
}

interface CommitterOptions extends CommitOptions {
  /** Commits of a few rows are at least so many milliseconds apart, so that each gathers the answers of a busy source. Default 0. */
  readonly gatherMs?: number;
  readonly onCommitted: (step: Step) => void;
}

export function createCommitter(options: CommitterOptions): Committer {
  const { gatherMs = 0 } = options;
  const waiting: Waiting[] = [];
  const changes: (() => Promise<void>)[] = [];
  let running = false;
  /** Readings of which a step was lost, and why. */
  const lost = new WeakMap<object, unknown>();
  /** The error that stops the whole source. */
  let broken: unknown = null;
  let committedAt = Number.NEGATIVE_INFINITY;

  async function pump(): Promise<void> {
    running = true;
    while (waiting.length + changes.length > 0) {
      for (const change of changes.splice(0)) await change();
      const restMs = committedAt + gatherMs - performance.now();
      if (restMs > 0 && waiting.length > 0 && rowsOf(waiting) < FEW_ROWS) await delay(restMs);
      const batch = waiting.splice(0, batchSize(waiting));
      if (batch.length === 0) continue;
      for (const each of batch) if (lost.has(each.reading)) each.reject(lost.get(each.reading));
      try {
        if (broken !== null) throw broken;
        await commitLists(batch.filter(each => !lost.has(each.reading)));
      } catch (error) {
        broken ??= error;
        for (const each of batch) each.reject(error);
      }
    }
    running = false;
  }

  /** What fails is committed again list by list, and a list row by row where Postgres refuses a row: only what is to blame is lost. */
  async function commitLists(batch: readonly Waiting[], rowByRow = false): Promise<void> {
    if (batch.length === 0) return;
    const steps = batch.map(each => each.step);
    const done = await commit(options, steps, { rowByRow }).catch(async (error: unknown) => {
      if (stopsSource(error)) throw error;
      const lists = [...groupBy(batch, each => each.step.resource).values()];
      if (lists.length > 1) for (const list of lists) await commitLists(list);
      else if (isBadData(error) && !rowByRow) await commitLists(batch, true);
      else
        for (const { reading, reject } of batch) {
          lost.set(reading, error);
          reject(error);
        }
      return null;
    });
    if (done === null) return;
    for (const [index, each] of batch.entries()) {
      options.onCommitted(each.step);
      each.resolve(done[index] as Committed);
    }
    committedAt = performance.now();
  }

  const betweenCommits = (work: () => Promise<void>) =>
    new Promise<void>((resolve, reject) => {
      changes.push(() => work().then(resolve, reject));
      if (!running) void pump();
    });

  return {
    add(step, reading) {
      return new Promise((resolve, reject) => {
        waiting.push({ step, reading, resolve, reject });
        if (!running) void pump();
      });
    },
    change: (resource, decide, also) =>
      betweenCommits(() => commitCoverage(options.database, resource, decide(), also)),
    between: work => betweenCommits(() => options.database.transaction(work)),
  };
}

const rowsOf = (waiting: readonly Waiting[]): number => waiting.reduce((sum, { step }) => sum + step.rows.length, 0);

function batchSize(waiting: readonly Waiting[]): number {
  let rows = 0;
  let size = 0;
  while (size < waiting.length && (size === 0 || rows < MOST_ROWS)) rows += waiting[size++]?.step.rows.length ?? 0;
  return size;
}
