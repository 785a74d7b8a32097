import { hostname, userInfo } from 'node:os';
import { openResource } from '../../engine/resource.ts';
import { SluiceError } from '../../errors.ts';
import { PUSH_TARGETS } from '../../push/targets.ts';
import type { Transaction } from '../../warehouse/database/database.ts';
import { eraseLines } from '../../warehouse/erasure/erase-lines.ts';
import { type Counts, eraseMentions, eraseRow } from '../../warehouse/erasure/erase-row.ts';
import { type Erasure, lastErased, writeReceipt } from '../../warehouse/erasure/receipts.ts';
import { readCopies, readRecordState } from '../../warehouse/erasure/record-copies.ts';
import { type Reference, findMentions, findReferences } from '../../warehouse/erasure/references.ts';
import { type Table, storedKey } from '../../warehouse/rows/tables.ts';
import { type ForgetRequest, checkGone } from './check-gone.ts';
import { type Marks, marksOf } from './marks.ts';

export interface Forgotten {
  /** Null if nothing was stored any more: it was erased before. */
  readonly receipt: Erasure | null;
  /** When it was erased before; null for the first time. */
  readonly erasedBefore: string | null;
  readonly refersTo: readonly Reference[];
  readonly mentions: readonly { readonly table: string; readonly rows: number }[];
}

/** Erases a record that its source does not show any more. With `dryRun` nothing is changed, and the receipt says what would be erased. */
export async function eraseRecord(request: ForgetRequest & { dryRun: boolean }): Promise<Forgotten> {
  const { session, database, source, name, job, dryRun } = request;
  const { kysely } = database;
  const place = { source: source.name, resource: name };
  const { table } = await openResource(database, { ...place, name, job, schema: source.schema });
  const key = storedKey(table, request.key);
  const marks = marksOf(await readCopies(kysely, table, place, key));
  const erasedBefore = await lastErased(kysely, place, key);
  await checkGone({ ...request, key }, await readRecordState(kysely, table, place, key));
  const unlisted = Object.keys(PUSH_TARGETS).filter(target => !session.jobs.has(target));
  const erased = { table, place, key, keyField: job.key, marks, unlisted };
  const receipt = await inTransaction(request, dryRun, async tx => {
    const counts = await eraseAll(tx, erased);
    if (Object.keys(counts).length > 0) return writeReceipt(tx, place, { key, counts, by: whoRuns() });
    if (erasedBefore !== null) return null;
    throw new SluiceError('usage', `Nothing is stored of ${name} ${key}.`, {
      next: `A key is the id, or what "select * from ${name}" shows as _key.`,
    });
  });
  const { schema } = source;
  return {
    receipt,
    erasedBefore,
    refersTo: await findReferences(kysely, { schema, column: `${name.replace(/s$/, '')}_id`, id: key }),
    mentions: dryRun ? [] : await findMentions(kysely, { source: source.name, schema, texts: marks.contacts }),
  };
}

interface Erased {
  readonly table: Table;
  readonly place: { readonly source: string; readonly resource: string };
  readonly key: string;
  readonly keyField: string;
  readonly marks: Marks;
  /** Resources that can be pushed and not listed. */
  readonly unlisted: readonly string[];
}

async function eraseAll(tx: Transaction, { table, place, key, keyField, marks, unlisted }: Erased): Promise<Counts> {
  const counts = await eraseRow(tx, table, place, key);
  const all = [...marks.contacts, ...marks.names];
  const lines = await eraseLines(tx, place, { key, ...marks, unlisted });
  if (lines > 0) counts['sluice.push_items'] = lines;
  for (const [name, rows] of Object.entries(await eraseMentions(tx, place, { keyField, key, marks: all })))
    counts[name] = (counts[name] ?? 0) + rows;
  return counts;
}

/** Runs `work` in a transaction, which a dry run rolls back. */
async function inTransaction<T>(
  { database }: ForgetRequest,
  dryRun: boolean,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  if (!dryRun) return database.transaction(work);
  let result: { value: T } | undefined;
  const undo = new Error('dry run');
  await database
    .transaction(async tx => {
      result = { value: await work(tx) };
      throw undo;
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error;
    });
  return (result as { value: T }).value;
}

function whoRuns(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    // Containers may run under a number without a name.
    return `uid ${process.getuid?.() ?? 'unknown'}@${hostname()}`;
  }
}
