import type { Log } from '../../log.ts';
import type { Database, Db } from '../../warehouse/database/database.ts';
import { beginLoad, rollbackTo, savepoint } from '../../warehouse/database/savepoint.ts';
import { type Cursor, moveCursor } from '../../warehouse/ledgers/cursors.ts';
import { addToRun, type Counts, noCounts } from '../../warehouse/ledgers/runs.ts';
import { type BadRecord, quarantine, resolveQuarantine } from '../../warehouse/rows/quarantine.ts';
import { type Row, type WriteResult, writeRows } from '../../warehouse/rows/write-rows.ts';
import { groupBy } from '../group-by.ts';
import type { Committed, Step } from '../read/step.ts';
import { keepsWindows, placeOf, type Resource } from '../resource.ts';
import { count, type Task } from '../run/task.ts';
import { sliceText } from '../slices/slice.ts';
import { holdsBadData } from './bad-data.ts';
import { conclude } from './conclude.ts';
import { type Draft, noteTrait } from './draft.ts';
import { learnEdits, learnUndated, noteWindows } from './learn-rows.ts';

/** Gathers what arrived while the previous transaction ran; it never waits for more. */
export interface Committer {
  /** Resolves once the step is durable. Rejects when its transaction failed: nothing of it was written. */
  add(step: Step): Promise<Committed>;
}

/** A commit holds no more rows than this, so that memory stays flat and a stop is quick. */
const MOST_ROWS = 5000;

export function createCommitter(options: {
  database: Database;
  timeZone: string;
  log: Log;
  onCommitted: (step: Step) => void;
}): Committer {
  const waiting: { step: Step; resolve: (done: Committed) => void; reject: (error: unknown) => void }[] = [];
  let running = false;
  let broken: unknown = null;

  async function pump(): Promise<void> {
    running = true;
    while (waiting.length > 0) {
      let rows = 0;
      let size = 0;
      while (size < waiting.length && (size === 0 || rows < MOST_ROWS)) rows += waiting[size++]?.step.rows.length ?? 0;
      const batch = waiting.splice(0, size);
      try {
        if (broken !== null) throw broken;
        const done = await commitAll(
          options,
          batch.map(each => each.step),
        );
        for (const [index, each] of batch.entries()) {
          options.onCommitted(each.step);
          each.resolve(done[index] as Committed);
        }
      } catch (error) {
        // What follows a lost step would seem to prove that its rows are gone.
        broken ??= error;
        for (const each of batch) each.reject(error);
      }
    }
    running = false;
  }

  return {
    add(step) {
      return new Promise((resolve, reject) => {
        waiting.push({ step, resolve, reject });
        if (!running) void pump();
      });
    },
  };
}

type Options = Parameters<typeof createCommitter>[0];

/** Rows that Postgres refuses for their content are rare: only then the same steps are written once more, row by row. */
async function commitAll(options: Options, steps: readonly Step[]): Promise<Committed[]> {
  try {
    return await commit(options, steps, false);
  } catch (error) {
    if (!holdsBadData(error)) throw error;
    return commit(options, steps, true);
  }
}

async function commit(options: Options, steps: readonly Step[], careful: boolean): Promise<Committed[]> {
  const { database, timeZone, log } = options;
  // By name, as whoever takes the cursors over locks them.
  const byResource = [...groupBy(steps, step => step.resource)].sort(([a], [b]) => (a.name < b.name ? -1 : 1));
  const drafts: { draft: Draft; cursor: Cursor }[] = [];
  const results = new Map<Step, Committed>();
  await database.kysely.transaction().execute(async (tx: Db) => {
    drafts.length = 0;
    await beginLoad(tx, timeZone);
    for (const [resource, group] of byResource) {
      const draft: Draft = {
        resource,
        log,
        entries: new Map(resource.entries),
        readings: { ...resource.cursor.readings },
        counts: new Map(),
        after: [],
      };
      const position = group.map(step => sliceText(step.slice)).join(', ');
      await writeGroup(tx, draft, group, { results, careful });
      const cursor = await moveCursor(tx, placeOf(resource), resource.cursor, {
        readings: draft.readings,
        position,
        runId: group.at(-1)?.task.runId ?? null,
      });
      for (const [task, counts] of draft.counts) await addToRun(tx, task.runId, task.orderId, counts);
      drafts.push({ draft, cursor });
    }
  });
  for (const { draft, cursor } of drafts) {
    draft.resource.entries = draft.entries;
    draft.resource.cursor = cursor;
    draft.resource.missing = null;
    for (const [task, counts] of draft.counts) count(task, counts);
    for (const effect of draft.after) effect();
  }
  return steps.map(step => results.get(step) as Committed);
}

async function writeGroup(
  tx: Db,
  draft: Draft,
  group: readonly Step[],
  { results, careful }: { results: Map<Step, Committed>; careful: boolean },
): Promise<void> {
  const { resource } = draft;
  for (const step of group) {
    for (const trait of [...(step.learnt ?? []), ...learnUndated(step)]) await noteTrait(tx, draft, step.task, trait);
    const { total, task } = step;
    if (total !== undefined)
      draft.after.push(() => {
        resource.total = total ?? resource.total ?? null;
        task.counted ??= total;
      });
  }
  // A task that only reports is rolled back to here; the others of the group are written together.
  for (const [reportOnly, steps] of groupBy(group, step => step.task.reportOnly)) {
    if (reportOnly) await savepoint(tx, 'report');
    const afterwards: (() => Promise<void>)[] = [];
    const rows = steps.flatMap(step => step.rows);
    const { written, refused } = await writeAll(tx, resource, rows, { steps, careful });
    const inserted = new Set(written.inserted);
    const updated = new Set(written.updated);
    const good = rows.filter(row => !refused.has(row.key)).map(row => row.key);
    if (resource.quarantined) await resolveQuarantine(tx, placeOf(resource), good);
    const byWindows = keepsWindows(resource);
    if (!reportOnly && byWindows) await noteWindows(tx, draft, steps);
    for (const step of steps) {
      const counts = countsOf(draft, step.task);
      const bad = [...step.bad, ...step.rows.flatMap(row => refused.get(row.key) ?? [])];
      if (!reportOnly && bad.length > 0) {
        counts.quarantined += await quarantine(tx, placeOf(resource), sliceText(step.slice), bad);
        resource.quarantined = true;
      }
      if (reportOnly) for (const { key } of bad) step.task.findings.unreadable.add(key);
      const changed = new Set<string>();
      const edited = step.rows.filter(row => updated.has(row.key)).map(row => row.key);
      for (const row of step.rows) {
        if (reportOnly && byWindows) step.task.findings.shown.add(row.key);
        if (inserted.delete(row.key)) {
          changed.add(row.key);
          if (reportOnly) step.task.findings.absent.add(row.key);
          else counts.inserted++;
        } else if (updated.delete(row.key)) {
          changed.add(row.key);
          if (reportOnly) step.task.findings.different.add(row.key);
          else counts.updated++;
        } else counts.unchanged++;
      }
      counts.requests += step.requests;
      counts.rowsRead += step.rows.length + step.bad.length;
      results.set(step, { changed: changed.size });
      const learnt = reportOnly ? null : await learnEdits(tx, draft, step, changed, edited);
      if (learnt) await noteTrait(tx, draft, step.task, learnt);
      const outcome = { changed, bad: bad.map(record => record.key), counts };
      // How a list is best cut is worth keeping, whoever found it out.
      if (reportOnly && cuts(step)) afterwards.push(() => conclude(tx, draft, step, outcome));
      else await conclude(tx, draft, step, outcome);
    }
    const first = steps[0];
    if (first && !reportOnly) countsOf(draft, first.task).revived += written.revived;
    if (reportOnly) await rollbackTo(tx, 'report');
    for (const conclusion of afterwards) await conclusion();
  }
}

const cuts = ({ end }: Step): boolean => end?.kind === 'split' || end?.kind === 'larger';

export function countsOf(draft: Draft, task: Task): Counts {
  const counts = draft.counts.get(task) ?? noCounts();
  draft.counts.set(task, counts);
  return counts;
}

/** `careful`: each row by itself, so that one that Postgres refuses for its content is set aside and the others go on. */
async function writeAll(
  tx: Db,
  resource: Resource,
  rows: readonly Row[],
  { steps, careful }: { steps: readonly Step[]; careful: boolean },
) {
  const context = {
    resource: resource.name,
    runId: steps[0]?.task.runId ?? null,
    deep: steps.some(step => step.task.deep),
  };
  const refused = new Map<string, BadRecord>();
  if (!careful) return { written: await writeRows(tx, resource.table, rows, context), refused };
  const written: WriteResult = { inserted: [], updated: [], unchanged: 0, revived: 0 };
  for (const row of rows) {
    await savepoint(tx, 'one_row');
    try {
      const one = await writeRows(tx, resource.table, [row], context);
      written.inserted.push(...one.inserted);
      written.updated.push(...one.updated);
      written.revived += one.revived;
    } catch (error) {
      if (!holdsBadData(error)) throw error;
      await rollbackTo(tx, 'one_row');
      const extra = row.extra === null ? {} : (JSON.parse(row.extra) as Record<string, unknown>);
      const payload = JSON.stringify({ ...row.values, ...row.children, ...extra });
      refused.set(row.key, { key: row.key, payload, reasons: { '(record)': error.message } });
    }
  }
  return { written, refused };
}
