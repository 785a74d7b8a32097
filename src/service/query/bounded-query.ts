import { withAnySignal } from '../../any-signal.ts';
import { SECOND } from '../../clock.ts';
import { isKind, SluiceError } from '../../errors.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { type ColumnInfo, readQuery, type TextRow, tookTooLong } from '../../warehouse/reports/read-query.ts';

/** What a query of the console may take at most. */
export const TIMEOUT_MS = 10 * SECOND;
const MOST_BYTES = 32 * 2 ** 20;

/**
 * Runs one query as the login of `reader`, within 10 seconds and 32 MB; one that resists is ended with its session after 12. Rejects with
 * kind `failed` for a wrong query, one that takes longer or returns more, `database` if no connection was free for it, and `stopped` once
 * `signal` aborts.
 */
export async function runBounded(
  reader: Database,
  { query, schema, most, signal }: { query: string; schema: string; most: number; signal: AbortSignal },
) {
  const begun = performance.now();
  const rows: TextRow[] = [];
  let columns: readonly ColumnInfo[] = [];
  // Rows beyond `most` were left out.
  let isCut = false;
  let hasConnection = false;
  // A query may lift the server's time-out, or trap it.
  const late = AbortSignal.timeout(TIMEOUT_MS + SECOND);
  await withAnySignal([signal, late], ended =>
    readQuery(
      reader,
      {
        ...{ schema, timeoutMs: TIMEOUT_MS, signal: ended.signal, mostBytes: MOST_BYTES },
        query: async () => {
          hasConnection = true;
          return query;
        },
      },
      async (named, batch) => {
        columns = named;
        isCut = rows.length + batch.length > most;
        rows.push(...batch.slice(0, most - rows.length));
        return !isCut;
      },
    ),
  ).catch((error: unknown) => {
    if (!late.aborted || signal.aborted || !isKind(error, 'stopped')) throw error;
    throw hasConnection ? tookTooLong(TIMEOUT_MS, error) : allBusy(reader, error);
  });
  return { columns, rows, isCut, ms: Math.round(performance.now() - begun) };
}

export type QueryResult = Awaited<ReturnType<typeof runBounded>>;

const allBusy = ({ place }: Database, cause: unknown): SluiceError =>
  new SluiceError('database', `The database at ${place}: all connections for queries were busy.`, {
    next: 'Try again once other queries have ended.',
    cause,
  });
