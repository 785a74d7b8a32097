import { type Job, mayBeAbsent, slicingOf } from '../../engine/job.ts';
import { declareTable } from '../../engine/records/declare-table.ts';
import { dayIn, monthRange } from '../../engine/slices/date-windows.ts';
import { SluiceError } from '../../errors.ts';
import { sourceOption } from '../../next-steps.ts';
import type { Database, Db } from '../../warehouse/database/database.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import { countDoubtful, provenDays } from '../../warehouse/reports/month-proof.ts';
import { type DatedList, type Seal, sealMonth } from '../../warehouse/rows/seals.ts';
import { tableIn } from '../../warehouse/rows/tables.ts';
import { listed, plural } from '../format.ts';

interface ClosingSource {
  readonly name: string;
  readonly schema: string;
  readonly timeZone: string;
  readonly jobs: ReadonlyMap<string, Job>;
}

/** Kind `usage` unless it is a month, `YYYY-MM`, that is over. */
export function checkMonth(month: string, today: string): string {
  if (/^\d{4}-(0[1-9]|1[0-2])$/.test(month) && month < today.slice(0, 7)) return month;
  throw new SluiceError('usage', `"${month}" is not a month that is over.`, { next: 'Expected: such as 2025-03.' });
}

/**
 * Closes a month of all lists that are cut by dates: keeps its rows as they are now, with counts, sums and digests. Kind `usage` for a month
 * that is not over, `failed` for one that is not proven complete since it was over, or of which something is in doubt.
 */
export async function closeMonth(database: Database, source: ClosingSource, month: string): Promise<Seal> {
  const { name, timeZone } = source;
  checkMonth(month, dayIn(await databaseNow(database), timeZone));
  return database.transaction(async tx => {
    // Counts, sums and digests of one moment.
    await tx.query('set transaction isolation level repeatable read');
    const lists = await listsOf(tx, source, month);
    const doubtful: string[] = [];
    for (const { resource, table, dateField } of lists) {
      const rows = await countDoubtful(tx, { source: name, resource }, table, { dateField, month });
      if (rows > 0) doubtful.push(`${plural(rows, 'row')} of ${resource}`);
    }
    if (doubtful.length > 0)
      throw new SluiceError(
        'failed',
        `${month} cannot be closed: ${listed(doubtful)} are missing at the source, or held.`,
        {
          next: `See them with sluice status${sourceOption(name)}; the next syncs decide.`,
        },
      );
    return sealMonth(tx, name, month, lists);
  });
}

/** The lists that are cut by dates, if all of them are complete. */
async function listsOf(db: Db, { name, schema, timeZone, jobs }: ClosingSource, month: string): Promise<DatedList[]> {
  const { from, to } = monthRange(month);
  const proofs = await provenDays(db, name, { from, to }, timeZone);
  const lists: DatedList[] = [];
  for (const [resource, job] of jobs) {
    const dates = slicingOf(job, 'date');
    const proof = proofs.get(resource);
    // Of a list that the source does not offer, nothing was read.
    if (dates === undefined || (proof === undefined && mayBeAbsent(job))) continue;
    if (!proof?.isComplete || proof.day <= to)
      throw new SluiceError('failed', `${month} cannot be closed: ${whyOpen(resource, proof)}.`, {
        next: `Read it first: sluice backfill ${resource} --from ${from} --to ${to}${sourceOption(name)}`,
      });
    lists.push({ resource, table: tableIn(schema, declareTable(resource, job)), dateField: dates.field });
  }
  return lists;
}

const whyOpen = (
  resource: string,
  proof: { readonly isComplete: boolean; readonly day: string } | undefined,
): string =>
  proof?.isComplete
    ? `${resource} was last read on ${proof.day}, before it was over`
    : `${resource} is not complete in it`;
