import type { Log } from '../../log.ts';
import type { Database } from '../../warehouse/database/database.ts';
import type { SeenTime } from '../../warehouse/database/now.ts';
import { type Booking, bookCommit } from '../../warehouse/ledgers/book-commit.ts';
import type { Cursor } from '../../warehouse/ledgers/cursors.ts';
import { addCounts } from '../../warehouse/ledgers/runs.ts';
import { beginEffects, coverageChange, resourceIn, type TransactionEffects } from '../conclude/transaction-effects.ts';
import { oldestProof } from '../coverage/list.ts';
import { groupBy } from '../group-by.ts';
import type { Committed, Step } from '../read/step.ts';
import type { Resource } from '../resource.ts';
import { sliceText } from '../slices/slice.ts';
import { update } from '../task/task.ts';
import { writeSteps } from './write-steps.ts';

export interface CommitOptions {
  readonly source: string;
  readonly database: Database;
  /** Zone of time stamps that come without one. */
  readonly timeZone: string;
  readonly log: Log;
  readonly seenTime: SeenTime;
}

/**
 * Commits rows, missing rows, deletions, coverage, counters and cursor in one transaction. Memory is updated after the commit.
 */
export async function commit(
  { source, database, timeZone, log, seenTime }: CommitOptions,
  steps: readonly Step[],
  { rowByRow }: { rowByRow: boolean },
): Promise<Committed[]> {
  // By name, as whoever locks several lists does.
  const byResource = [...groupBy(steps, step => step.resource)].sort(([a], [b]) => (a.name < b.name ? -1 : 1));
  const written: TransactionEffects[] = [];
  const results = new Map<Step, Committed>();
  const cursors = await database.transaction(
    async tx => {
      written.length = 0;
      const bookings: Booking[] = [];
      for (const [resource, group] of byResource) {
        const effects = beginEffects(resource, log);
        for (const [step, result] of await writeSteps(tx, effects, group, { rowByRow })) results.set(step, result);
        written.push(effects);
        bookings.push(bookingOf(effects, group));
      }
      return bookCommit(tx, source, bookings, seenTime);
    },
    // The zone costs a statement, and only such a column depends on it.
    byResource.some(([resource]) => holdsStamps(resource)) ? { timeZone } : {},
  );
  for (const [index, effects] of written.entries()) publish(effects, cursors[index] as Cursor);
  return steps.map(step => results.get(step) as Committed);
}

const holdsStamps = ({ table }: Resource): boolean =>
  [...table.columns, ...table.children.flatMap(({ columns }) => columns)].some(
    ({ type }) => type === 'timestamp with time zone',
  );

const bookingOf = (effects: TransactionEffects, steps: readonly Step[]): Booking => ({
  resource: effects.resource.name,
  from: effects.resource.cursor,
  readings: effects.readings,
  position: steps.map(step => sliceText(step.slice)).join(', '),
  runId: steps.at(-1)?.task.runId ?? null,
  isProven: oldestProof(resourceIn(effects)) !== null,
  learnt: [...effects.learnt.values()],
  ...coverageChange(effects),
  counts: [...effects.counts].map(([{ runId, orderId }, counts]) => ({ runId, orderId, counts })),
});

function publish({ resource, entries, counts, events, afterCommit }: TransactionEffects, cursor: Cursor): void {
  resource.entries = entries;
  resource.cursor = cursor;
  resource.missing = null;
  for (const [task, more] of counts) {
    addCounts(task.counts, more);
    resource.untoldUpdates -= more.updated;
  }
  for (const [task, event] of events) update(task, event);
  for (const effect of afterCommit) effect();
}
