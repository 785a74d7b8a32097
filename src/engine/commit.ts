import type { Log } from '../log.ts';
import { type Cursor, moveCursor } from '../warehouse/cursors.ts';
import type { Database, Db } from '../warehouse/database.ts';
import { addToOrder } from '../warehouse/orders.ts';
import { quarantine, resolveQuarantine } from '../warehouse/quarantine.ts';
import { type Row, writeRows } from '../warehouse/rows.ts';
import { addToRun, type Counts, noCounts } from '../warehouse/runs.ts';
import { beginLoad, rollbackTo, savepoint } from '../warehouse/savepoint.ts';
import { sliceText } from '../warehouse/slice.ts';
import { writeTrait } from '../warehouse/traits.ts';
import { holdsBadData } from './bad-data.ts';
import { conclude } from './conclude.ts';
import type { Draft } from './draft.ts';
import type { Resource } from './resource.ts';
import type { Committed, Step } from './step.ts';
import { count, lookAgain, type Task } from './task.ts';

/** Gathers what arrived while the previous transaction ran; it never waits for more. */
export interface Committer {
  /** Resolves once the step is durable. Rejects when its transaction failed: nothing of it was written. */
  add(step: Step): Promise<Committed>;
}

/** A commit holds no more rows than this, so that memory stays flat and a stop is quick. */
const MOST_ROWS = 5000;

export function createCommitter(options: { database: Database; timeZone: string; log: Log }): Committer {
  const { database, timeZone, log } = options;
  const waiting: { step: Step; resolve: (done: Committed) => void; reject: (error: unknown) => void }[] = [];
  let running = false;

  async function pump(): Promise<void> {
    running = true;
    while (waiting.length > 0) {
      let rows = 0;
      let size = 0;
      while (size < waiting.length && (size === 0 || rows < MOST_ROWS)) rows += waiting[size++]?.step.rows.length ?? 0;
      const batch = waiting.splice(0, size);
      try {
        const done = await commit(
          database,
          timeZone,
          batch.map(each => each.step),
          log,
        );
        for (const [index, each] of batch.entries()) each.resolve(done[index] as Committed);
      } catch (error) {
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

async function commit(database: Database, timeZone: string, steps: readonly Step[], log: Log): Promise<Committed[]> {
  const byResource = groupBy(steps, step => step.resource);
  const drafts: { draft: Draft; cursor: Cursor }[] = [];
  const results = new Map<Step, Committed>();
  await database.kysely.transaction().execute(async (tx: Db) => {
    drafts.length = 0;
    await beginLoad(tx, timeZone);
    for (const [resource, group] of byResource) {
      const draft: Draft = {
        resource,
        entries: new Map(resource.entries),
        readings: { ...resource.cursor.readings },
        counts: new Map(),
        after: [],
      };
      const position = group.map(step => sliceText(step.slice)).join(', ');
      await writeGroup(tx, draft, group, results, log);
      const cursor = await moveCursor(tx, { source: resource.source, resource: resource.name }, resource.cursor, {
        readings: draft.readings,
        position,
        runId: group.at(-1)?.task.runId ?? null,
      });
      for (const [task, counts] of draft.counts) {
        await addToRun(tx, task.runId, counts);
        if (task.orderId !== null) await addToOrder(tx, task.orderId, counts);
      }
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
  results: Map<Step, Committed>,
  log: Log,
): Promise<void> {
  const { resource } = draft;
  const place = { source: resource.source, resource: resource.name };
  for (const step of group) {
    for (const trait of step.learnt ?? []) {
      if (resource.traits.get(trait.trait) === trait.value) continue;
      await writeTrait(tx, resource.source, { resource: resource.name, ...trait });
      draft.after.push(() => {
        resource.traits.set(trait.trait, trait.value);
        lookAgain(step.task);
        log.debug({ resource: resource.name, ...trait }, 'learnt');
      });
    }
    if (step.total !== undefined && step.total !== null) {
      const { total } = step;
      draft.after.push(() => {
        resource.total = total;
      });
    }
  }
  // A task that only reports is rolled back to here; the others of the group are written together.
  for (const [reportOnly, steps] of groupBy(group, step => step.task.reportOnly)) {
    if (reportOnly) await savepoint(tx, 'report');
    const rows = steps.flatMap(step => step.rows);
    const { written, refused } = await writeAll(tx, resource, rows, steps);
    const inserted = new Set(written.inserted);
    const updated = new Set(written.updated);
    const good = rows.filter(row => !refused.has(row.key)).map(row => row.key);
    await resolveQuarantine(tx, place, good);
    for (const step of steps) {
      const counts = countsOf(draft, step.task);
      const bad = [...step.bad, ...step.rows.flatMap(row => refused.get(row.key) ?? [])];
      if (!reportOnly) counts.quarantined += await quarantine(tx, place, sliceText(step.slice), bad);
      const changed = new Set<string>();
      for (const row of step.rows) {
        if (inserted.delete(row.key)) {
          changed.add(row.key);
          counts.inserted++;
          if (reportOnly) step.task.findings.absent.add(row.key);
        } else if (updated.delete(row.key)) {
          changed.add(row.key);
          counts.updated++;
          if (reportOnly) step.task.findings.different.add(row.key);
        } else counts.unchanged++;
      }
      counts.requests += step.requests;
      counts.rowsRead += step.rows.length + step.bad.length;
      results.set(step, { changed: changed.size });
      await conclude(tx, draft, step, { changed, bad: bad.map(record => record.key), counts });
    }
    const first = steps[0];
    if (first) countsOf(draft, first.task).revived += written.revived;
    if (reportOnly) await rollbackTo(tx, 'report');
  }
}

export function countsOf(draft: Draft, task: Task): Counts {
  const counts = draft.counts.get(task) ?? noCounts();
  draft.counts.set(task, counts);
  return counts;
}

/** Writes rows; where Postgres refuses one for its content, that one is set aside and the others go on. */
async function writeAll(tx: Db, resource: Resource, rows: readonly Row[], steps: readonly Step[]) {
  const context = {
    resource: resource.name,
    runId: steps[0]?.task.runId ?? null,
    deep: steps.some(step => step.task.deep),
  };
  const refused = new Map<string, { key: string; payload: string; reasons: Record<string, string> }>();
  await savepoint(tx, 'rows');
  try {
    return { written: await writeRows(tx, resource.table, rows, context), refused };
  } catch (error) {
    if (!holdsBadData(error)) throw error;
    await rollbackTo(tx, 'rows');
  }
  const written = { inserted: [] as string[], updated: [] as string[], unchanged: 0, revived: 0 };
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
      refused.set(row.key, {
        key: row.key,
        payload: JSON.stringify({ ...row.values, ...row.children }),
        reasons: { '(record)': error.message },
      });
    }
  }
  return { written, refused };
}

function groupBy<T, K>(items: readonly T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group) group.push(item);
    else groups.set(keyOf(item), [item]);
  }
  return groups;
}
