import { HOUR } from '../../clock.ts';
import { isKind } from '../../errors.ts';
import type { Db } from '../../warehouse/database/database.ts';
import { stampMs } from '../../warehouse/database/stamp.ts';
import type { Entry } from '../../warehouse/ledgers/coverage.ts';
import { sumsOf } from '../../warehouse/rows/stored-rows.ts';
import { type Draft, noteTrait } from '../apply/draft.ts';
import type { Reader } from '../read/fetch-page.ts';
import type { End, Step } from '../read/step.ts';
import { partition, partitionOf, type Resource } from '../resource.ts';
import { type DateRange, lengthInDays, monthBefore, monthRange, overlapDays } from '../slices/date-windows.ts';
import { type Slice, sliceText } from '../slices/slice.ts';
import type { Task } from './task.ts';

export type TotalSlice = Extract<Slice, { by: 'total' }>;

/** A month that costs less than this to read is sooner read than asked for. */
const LEAST_COST = 2;
/** A month is not asked for again before this. */
const LEAST_AGE_MS = HOUR;
/** Months fully read whose totals the source puts otherwise, before its totals are taken to follow other rules. */
const MOST_DISAGREEING = 2;
/** How far back totals are asked for. */
const MOST_MONTHS = 240;

/**
 * The month whose control total is to be asked for next: one request that may tell that none of its rows has changed. First what
 * was read again since its total disagreed, then what was never asked for, newest first, then the oldest answer.
 */
export function totalToAsk(resource: Resource, today: string, now: number): TotalSlice | null {
  const trust = resource.traits.get('control totals');
  if (!resource.job.control || partitionOf(resource) !== 'date' || (trust !== undefined && trust !== 'agree'))
    return null;
  const parts = partition(resource);
  let best: { slice: TotalSlice; rank: number } | null = null;
  for (const month of monthsBack(parts, today)) {
    const slice: TotalSlice = { by: 'total', month };
    const range = monthRange(month);
    const inMonth = parts.filter(({ slice: part }) => part.by === 'date' && overlapDays(part, range) > 0);
    const asked = resource.entries.get(sliceText(slice));
    const readAt = asked?.readAt ?? 0;
    if (now - readAt < LEAST_AGE_MS || costOf(inMonth, range) < LEAST_COST) continue;
    const proven = Math.min(...inMonth.map(entry => entry.provenAt ?? Number.NEGATIVE_INFINITY));
    // Until one month has shown that the source sums as we do, only what was read in full can tell.
    if (!Number.isFinite(proven) || (trust === undefined && (asked || month >= today.slice(0, 7)))) continue;
    const settled = asked?.dueReason !== null && proven > readAt;
    const rank = asked === undefined ? 1 : settled ? 0 : 1 + readAt;
    if (best === null || rank < best.rank) best = { slice, rank };
  }
  return best?.slice ?? null;
}

/** The months from today's back to the first that a window begins in. */
function monthsBack(parts: readonly Entry[], today: string): string[] {
  const starts = parts.flatMap(({ slice }) => (slice.by === 'date' && slice.from !== null ? [slice.from] : []));
  const first = ([today, ...starts].sort()[0] as string).slice(0, 7);
  const months: string[] = [];
  for (let month = today.slice(0, 7); month >= first && months.length < MOST_MONTHS; ) {
    months.push(month);
    month = monthBefore(today, months.length);
  }
  return months;
}

/** Requests that reading the month again would take. */
function costOf(parts: readonly Entry[], range: DateRange): number {
  let cost = 0;
  for (const { slice, requests } of parts) {
    if (slice.by !== 'date') continue;
    const days = lengthInDays(slice);
    cost += Number.isFinite(days) ? (requests * overlapDays(slice, range)) / days : 0;
  }
  return cost;
}

/** Asks the source for its totals of a month. A source that has none, or does not show them to this key, is not asked again. */
export async function* readTotal(reader: Reader, task: Task, slice: TotalSlice): AsyncGenerator<Step> {
  const { resource } = task;
  const { control } = resource.job;
  if (!control) throw new Error(`${resource.name} has no control totals`);
  const step = { resource, task, slice, rows: [], bad: [], requests: 1, release: () => undefined };
  const refused = (evidence: string): Step => ({
    ...step,
    learnt: [{ trait: 'control totals', value: 'absent', evidence }],
  });
  try {
    const { value: answer, release } = await reader.admit(() =>
      reader.client.get(
        control.path,
        {
          lane: task.lane,
          purpose: `${resource.name} ${sliceText(slice)}`,
          runId: task.runId,
          signal: reader.signal,
          attempts: 2,
        },
        control.query(slice.month),
      ),
    );
    const held = { ...step, requests: answer.requests, release };
    if (answer.kind === 'gone') yield { ...held, ...refused(`there is no ${control.path}`), release };
    else yield { ...held, end: { kind: 'total', said: answer.record, startedAt: answer.grantedAt } };
  } catch (error) {
    // Nothing rests on it: what fails for now is asked for again some other time.
    if (isKind(error, 'unavailable')) return;
    if (!isKind(error, 'refused', 'unauthorized')) throw error;
    yield refused(`${control.path}: ${error.message}`);
  }
}

/** Compares what the source says of a month with the rows that are stored. It decides what is read first, and nothing else. */
export async function concludeTotal(
  tx: Db,
  draft: Draft,
  { task, slice }: { task: Task; slice: TotalSlice },
  end: Extract<End, { kind: 'total' }>,
): Promise<Entry[]> {
  const { resource } = draft;
  const { control } = resource.job;
  if (!control || !resource.dates) return [];
  const range = monthRange(slice.month);
  const sums = await sumsOf(tx, resource.table, resource.dates.field, range, control.sums);
  const apart = Object.keys(control.sums).filter(name => !isSame(end.said[name], sums[name] ?? '0'));
  const texts = apart.map(
    name => `${name}: the source says ${String(end.said[name])}, the rows sum up to ${sums[name]}`,
  );
  const before = draft.entries.get(sliceText(slice));
  const dueReason = texts.length > 0 ? texts.join('; ') : null;
  const at = stampMs(end.startedAt);
  const asked: Entry = {
    slice,
    provenAt: null,
    readAt: at,
    requests: 1,
    rows: null,
    changed: 0,
    hoursWatched: 0,
    dueSince: null,
    dueReason,
  };
  if (resource.traits.get('control totals') === undefined) {
    if (dueReason === null && Object.values(sums).some(sum => Number(sum) !== 0))
      await noteTrait(tx, draft, task, {
        trait: 'control totals',
        value: 'agree',
        evidence: `${slice.month} was read in full, and both sum it up alike`,
      });
    const others = [...draft.entries.values()].filter(
      each => each.slice.by === 'total' && each.slice.month !== slice.month && each.dueReason !== null,
    );
    if (dueReason !== null && others.length + 1 >= MOST_DISAGREEING)
      await noteTrait(tx, draft, task, { trait: 'control totals', value: 'other rules', evidence: dueReason });
    return [asked];
  }
  // What still disagrees after it was read again is reported, and not obeyed.
  if (dueReason === null || dueReason === before?.dueReason) return [asked];
  const windows = partition({ ...resource, entries: draft.entries }).filter(
    entry => entry.slice.by === 'date' && overlapDays(entry.slice, range) > 0,
  );
  const reason = `the source's total of ${slice.month} is not what its rows sum up to`;
  return [asked, ...windows.map(entry => ({ ...entry, dueSince: at, dueReason: reason }))];
}

/** Equal to the cent: a source may sum with doubles. */
function isSame(said: unknown, sum: string): boolean {
  const number = typeof said === 'number' || typeof said === 'string' ? Number(said) : Number.NaN;
  return Math.abs(number - Number(sum)) < 0.005;
}
