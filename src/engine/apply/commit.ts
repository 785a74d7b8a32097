import type { Log } from '../../log.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { beginLoad } from '../../warehouse/database/savepoint.ts';
import { type Cursor, moveCursor } from '../../warehouse/ledgers/cursors.ts';
import { addToRun } from '../../warehouse/ledgers/runs.ts';
import { groupBy } from '../group-by.ts';
import type { Committed, Step } from '../read/step.ts';
import { placeOf, type Resource } from '../resource.ts';
import { sliceText } from '../slices/slice.ts';
import { count } from '../task/task.ts';
import { beginEffects, type TransactionEffects } from './transaction-effects.ts';
import { writeSteps } from './write-steps.ts';

export interface CommitOptions {
  readonly database: Database;
  /** Zone of time stamps that come without one. */
  readonly timeZone: string;
  readonly log: Log;
}

/**
 * Commits rows, missing rows, deletions, coverage, counters and cursor in one transaction. Memory is updated after the commit.
 */
export async function commit(
  { database, timeZone, log }: CommitOptions,
  steps: readonly Step[],
  { rowByRow }: { rowByRow: boolean },
): Promise<Committed[]> {
  // Ordered by name, as `takeCursors` locks them.
  const byResource = [...groupBy(steps, step => step.resource)].sort(([a], [b]) => (a.name < b.name ? -1 : 1));
  const written: { effects: TransactionEffects; cursor: Cursor }[] = [];
  const results = new Map<Step, Committed>();
  await database.transaction(async tx => {
    written.length = 0;
    await beginLoad(tx, timeZone);
    for (const [resource, group] of byResource) {
      const effects = beginEffects(resource, log);
      for (const [step, result] of await writeSteps(tx, effects, group, { rowByRow })) results.set(step, result);
      const cursor = await moveCursor(tx, placeOf(resource), resource.cursor, {
        readings: effects.readings,
        position: group.map(step => sliceText(step.slice)).join(', '),
        runId: group.at(-1)?.task.runId ?? null,
      });
      for (const [task, counts] of effects.counts) await addToRun(tx, task.runId, task.orderId, counts);
      written.push({ effects, cursor });
    }
  });
  for (const { effects, cursor } of written) publish(effects.resource, effects, cursor);
  return steps.map(step => results.get(step) as Committed);
}

function publish(resource: Resource, { entries, counts, afterCommit }: TransactionEffects, cursor: Cursor): void {
  resource.entries = entries;
  resource.cursor = cursor;
  resource.missing = null;
  for (const [task, its] of counts) count(task, its);
  for (const effect of afterCommit) effect();
}
