import { slicingOf } from '../../engine/job.ts';
import { declareTable } from '../../engine/records/declare-table.ts';
import { dayIn, monthRange } from '../../engine/slices/date-windows.ts';
import { codeOf, SluiceError } from '../../errors.ts';
import { sourceOption } from '../../next-steps.ts';
import type { Database, Db } from '../../warehouse/database/database.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import { countDoubts, type DaysProof, type MonthDoubts, provenDays } from '../../warehouse/reports/month-proof.ts';
import { type DatedList, readSeals, type Seal, sealMonth } from '../../warehouse/rows/seals.ts';
import { tableIn } from '../../warehouse/rows/tables.ts';
import { lockLists } from '../../warehouse/rows/undo-runs.ts';
import { listed, plural } from '../format.ts';
import type { ServedSource } from '../status/served-source.ts';

type ClosingSource = Pick<ServedSource, 'name' | 'schema' | 'timeZone' | 'jobs'>;

/** `isNew`: it was closed by this. */
export type ClosedMonth = Seal & { readonly isNew: boolean };

/**
 * Closes a month of all lists that are cut by dates: keeps its rows as they are now, with counts, sums and digests. One that is closed stays as it
 * is, unless `again`. Kind `usage` for a month that is not over, `failed` for one that was not read completely since, or of which something is in
 * doubt.
 */
export async function closeMonth(
  database: Database,
  source: ClosingSource,
  month: string,
  { again = false }: { readonly again?: boolean } = {},
): Promise<ClosedMonth> {
  const { name, timeZone } = source;
  checkMonth(month, dayIn(await databaseNow(database), timeZone));
  const lists = datedLists(source);
  if (lists.length === 0) throw new SluiceError('failed', 'No list that is read here can be filtered by date.');
  return untilSerial(database, async tx => {
    // Counts, sums and digests of one moment, which comes after the locks.
    await tx.query('set transaction isolation level repeatable read');
    await lockLists(tx, name, new Map(lists.map(({ resource, table }) => [resource, table])));
    const [before] = await readSeals(tx, name, month);
    if (before && !again) return { ...before, isNew: false };
    await sealMonth(tx, name, month, await completeLists(tx, source, lists, month));
    const [seal] = await readSeals(tx, name, month);
    return { ...(seal as Seal), isNew: true };
  });
}

/** Something that nobody keeps from being written may be committed between the snapshot and a lock. */
const MOST_TRIES = 5;
const NOT_SERIAL = '40001';

async function untilSerial<T>(database: Database, work: Parameters<typeof database.transaction<T>>[0]): Promise<T> {
  for (let tries = 1; ; tries++)
    try {
      return await database.transaction(work);
    } catch (error) {
      if (codeOf(error) !== NOT_SERIAL || tries === MOST_TRIES) throw error;
    }
}

function checkMonth(month: string, today: string): void {
  if (/^(?!0000)\d{4}-(0[1-9]|1[0-2])$/.test(month) && month < today.slice(0, 7)) return;
  throw new SluiceError('usage', `"${month}" is not a month that is over.`, { next: 'Expected: such as 2025-03.' });
}

const datedLists = ({ schema, jobs }: ClosingSource): DatedList[] =>
  [...jobs].flatMap(([resource, job]) => {
    const dates = slicingOf(job, 'date');
    return dates ? [{ resource, table: tableIn(schema, declareTable(resource, job)), dateField: dates.field }] : [];
  });

/** Those that the source offers. Throws unless all of them are complete, and nothing in them is in doubt. */
async function completeLists(
  db: Db,
  { name, timeZone }: ClosingSource,
  lists: readonly DatedList[],
  month: string,
): Promise<DatedList[]> {
  const { from, to } = monthRange(month);
  const proofs = await provenDays(db, name, { from, to }, timeZone);
  const refuse = (why: string, next: string): never => {
    throw new SluiceError('failed', `${month} cannot be closed yet: ${why}.`, { next });
  };
  const offered = lists.filter(({ resource }) => !proofs.get(resource)?.isAbsent);
  for (const { resource, table, dateField } of offered) {
    const doubts = doubtsText(await countDoubts(db, { source: name, resource }, table, { dateField, month, from, to }));
    if (doubts) refuse(`${resource} has ${doubts}`, `See them: sluice status${sourceOption(name)}`);
    const proof = proofs.get(resource);
    if (!proof?.isComplete || proof.day <= to)
      refuse(
        whyOpen(resource, proof),
        `Read it: sluice backfill ${resource} --from ${from} --to ${to}${sourceOption(name)}`,
      );
  }
  return offered;
}

const whyOpen = (resource: string, proof: DaysProof | undefined): string =>
  proof?.isComplete
    ? `${resource} was last read on ${proof.day}, before the month had ended`
    : `${resource} has not been read completely for that month`;

function doubtsText({ unsettled, quarantined, due, rewritten }: MonthDoubts): string {
  const parts = [
    ...(unsettled > 0 ? [`${plural(unsettled, 'row')} missing at the source or with held values`] : []),
    ...(quarantined > 0 ? [`${plural(quarantined, 'record')} in quarantine`] : []),
    ...(due > 0 ? [`${plural(due, 'slice')} to be read again`] : []),
    ...(rewritten > 0 ? [`${plural(rewritten, 'column')} with many replaced values`] : []),
  ];
  return listed(parts);
}
