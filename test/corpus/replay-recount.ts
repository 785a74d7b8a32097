import { stampMs } from '../../src/clock.ts';
import { hiddenRows, mayHideRows } from '../../src/engine/coverage/hidden-rows.ts';
import { coveredSince } from '../../src/engine/coverage/list.ts';
import { confirmationOf, isLackedByCover } from '../../src/engine/deletion/is-deleted.ts';
import { parseSlice } from '../../src/engine/slices/slice.ts';
import type { MissingRow } from '../../src/warehouse/rows/missing-rows.ts';
import { countedFirst, listOf, type RecordedRecount } from './recorded.ts';

/** What was decided of the count, and what the pure functions decide now: `done`, the count once more, or rows without a date. */
export function replayRecount(recorded: RecordedRecount): { was: unknown; is: unknown } {
  const { list, task, io, next } = recorded;
  const was = next === 'blocked' ? 'undated' : typeof next === 'string' ? next : 'ask again';
  return { was, is: decide() };

  function decide(): string {
    const known = listOf(list);
    const everything = task.kind === 'sync' || (task.kind === 'verify' && !task.reportOnly);
    if (!everything || !mayHideRows(known) || (known.total == null && task.kind === 'sync')) return 'done';
    const claims = { coveredSince: coveredSince(known), unfilteredSince: null, count: null };
    const missing = claims.coveredSince === null ? [] : (resultOf<MissingRow[]>('listMissing') ?? []);
    const lacked = missing.filter(row => {
      const lacks = [{ slice: parseSlice(row.slice), at: stampMs(row.since) }];
      return confirmationOf(row, known.strategy) === 'cover' && isLackedByCover({ lacks }, claims);
    });
    const held = {
      rows: resultOf<{ rows: number }>('countRows')?.rows ?? 0,
      quarantined: resultOf<number>('countQuarantined') ?? 0,
      lackedByCover: lacked.length,
      missing: missing.length,
    };
    const judged = { windowsHoldAllAt: null, countJudged: false, since: 0 };
    const asked = { ...judged, counted: countedFirst(task.counted), countAsked: task.recounted };
    const found = hiddenRows(known, asked, held);
    if (found === 'ask again') return found;
    // The recorder's engine did not judge the counts of lists in the order of ids.
    const [learnt] = found === 'none' || 'due' in found ? [] : found;
    return learnt === undefined || learnt.trait === 'counts' ? 'done' : learnt.trait;
  }

  function resultOf<T>(statement: string): T | undefined {
    return io.find(([name]) => name === statement)?.[2] as T | undefined;
  }
}
