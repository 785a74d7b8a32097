import { groupBy } from '../../engine/group-by.ts';
import { explain } from '../../errors.ts';
import { sourceOption } from '../../next-steps.ts';
import { count, plural } from '../../service/format.ts';
import type { UnprovenEnd } from '../../warehouse/reports/state-queries.ts';
import { table } from '../output/table.ts';
import type { ExitCode, Session } from '../session/session.ts';
import type { OrderResult, ReadResult } from './complete-orders.ts';

/** One order as `--json` shows it. */
export function summarise({ order, work, progress }: OrderResult) {
  return {
    source: order.source,
    resource: order.resource,
    order: Number(order.id),
    kind: order.kind,
    state: order.state,
    reason: order.reason,
    // Revived rows are among the inserted.
    new: work?.inserted ?? 0,
    changed: work?.updated ?? 0,
    unchanged: work?.unchanged ?? 0,
    deleted: work?.deleted ?? 0,
    missing: work?.missingNow ?? 0,
    // A sync shows the new ones; after a repair, what still is there counts.
    quarantined: (order.kind === 'verify' ? work?.quarantinedNow : work?.quarantined) ?? 0,
    replaced: work?.replaced ?? 0,
    // Records read, some of them several times, and how many of them could not be parsed.
    read: work?.rowsRead ?? 0,
    unreadable: work?.quarantinedSince ?? 0,
    // Rows of the list; null while parts of it were never read.
    listed: work?.listed ?? null,
    end: work?.end ?? null,
    slices: progress.slices,
    proven: progress.proven,
    requests: work?.requests ?? 0,
    seconds: Math.round((work?.seconds ?? 0) * 10) / 10,
  };
}

export type OrderSummary = ReturnType<typeof summarise>;

export function summaryTable(session: Pick<Session, 'terminal'>, all: readonly OrderSummary[]): string {
  const columns = ['new', 'changed', 'unchanged', 'deleted', 'missing', 'quarantined', 'requests'] as const;
  const nameOf = resourceNames(all);
  const rows = all.map(each => [nameOf(each), ...columns.map(column => count(each[column])), each.seconds.toFixed(1)]);
  const again = all.every(each => each.unchanged === 0 || isFirst(each)) ? 'read twice' : 'unchanged';
  const head = ['resource', ...columns.map(column => (column === 'unchanged' ? again : column)), 'seconds'];
  return table(session.terminal.colors, head, rows, { right: [1, 2, 3, 4, 5, 6, 7, 8] });
}

/** All its rows are new: those that were unchanged came twice, in parts that overlap. */
const isFirst = ({ listed, new: inserted }: OrderSummary): boolean => listed !== null && inserted >= listed;

/** What these columns of the table mean, where they are not empty. */
const LEGEND = {
  missing: 'no longer shown by the source; kept until their deletion is proven',
  quarantined: 'cannot be stored; sluice quarantine shows why',
};

/** What is not proven of a list whose end nothing agrees with, and what to do if rows behind that end are gone. */
export function endNote(
  name: string,
  {
    resource,
    end: { verdict, rows, counted },
    listed = 0,
  }: { resource: string; end: UnprovenEnd; listed?: number | null },
): string {
  if (verdict === 'cut')
    return `${name}: not complete: the source shows at most ${plural(rows, 'row')} without saying so.`;
  if (counted !== null)
    return `${name}: not proven complete: the source counts ${plural(counted, 'row')}, more than its pages show. The next sync looks again. See: docs/coverage.md`;
  const kept = Math.max((listed ?? 0) - rows, 0);
  const behind =
    kept > 0
      ? ` ${plural(kept, 'stored row')} may lie behind that. If the source has deleted them: sluice sync ${resource} --accept-deletes ${kept}.`
      : '';
  return `${name}: not proven complete: the source gives no count, and nothing yet confirms that the list ends after ${plural(rows, 'row')}.${behind} See: docs/coverage.md`;
}

/** How a line names a resource: preceded by its source if several were read. */
export function resourceNames(
  all: readonly { source: string }[],
): (each: { source: string; resource: string }) => string {
  const hasSeveral = all.some(each => each.source !== all[0]?.source);
  return ({ source, resource }) => (hasSeveral ? `${source} ${resource}` : resource);
}

/** The orders and sources that failed, for stderr and the `error` of the document; null if none did. */
export function failuresOf(
  all: readonly OrderSummary[],
  failed: ReadResult['failed'] = [],
  isBad: (each: OrderSummary) => boolean = each => problemOf(each) !== null,
): { kind: string; message: string } | null {
  const bad = all.filter(each => each.state !== 'done' || isBad(each));
  if (bad.length + failed.length === 0) return null;
  const nameOf = resourceNames(all);
  const lines = [
    ...bad.map(each => `${nameOf(each)} ${failureText(each)}`),
    ...failed.map(({ source, error }) => `${source}: ${explain(error)}`),
  ];
  return { kind: bad[0] ? 'failed' : (failed[0]?.error.kind ?? 'failed'), message: lines.join('\n') };
}

/** 1 if anything failed; 75 if every failure is a source stopped at the request limit. */
export function exitCodeOf(error: object | null, { results, failed }: ReadResult): ExitCode {
  if (error === null) return 0;
  const isQuota = failed.length > 0 && failed.every(each => each.error.kind === 'quota');
  return isQuota && results.every(each => each.order.state === 'done') ? 75 : 1;
}

function failureText(summary: OrderSummary): string {
  const { state, reason, order } = summary;
  const problem = problemOf(summary);
  if (problem !== null) return problem;
  if (state === 'paused') return `was paused. To continue: sluice backfill resume ${order}`;
  if (state === 'waiting' && reason !== null)
    return `failed; the running service tries again in ten minutes. Reason: ${reason}`;
  return `${state}: ${reason ?? 'no reason was recorded'}`;
}

export function showSummary(session: Pick<Session, 'terminal'>, read: ReadResult): ExitCode {
  const { terminal } = session;
  const resources = read.results.map(summarise);
  const error = failuresOf(resources, read.failed);
  terminal.show({ resources, ...(error ? { error } : {}) }, () => {
    const columns = (['missing', 'quarantined'] as const).filter(column => resources.some(each => each[column] > 0));
    return [summaryTable(session, resources), ...columns.map(each => `${each}: ${LEGEND[each]}`)].join('\n');
  });
  if (terminal.json) return exitCodeOf(error, read);
  const nameOf = resourceNames(resources);
  const unread = unreadLines(read.results);
  const done = resources.filter(({ state }) => state === 'done');
  const rows = resources.reduce((sum, { listed, end }) => sum + (end === null ? (listed ?? 0) : 0), 0);
  const equalNote = `${plural(rows, 'row')} proven equal to the source. Next: sluice sql "select * from freshness"`;
  const notes = [
    ...unread,
    ...done.flatMap(each => (each.reason === null ? [] : [`${nameOf(each)}: ${each.reason}`])),
    ...resources
      .filter(({ replaced }) => replaced > 0)
      .map(
        each =>
          `${nameOf(each)}: ${plural(each.replaced, 'row')} came with bytes that are invalid in the encoding of the answer; U+FFFD replaces them. To find rows with it: select * from ${each.resource} t where t::text like U&'%\\FFFD%'`,
      ),
    ...done.flatMap(each => (each.end ? [endNote(nameOf(each), { ...each, end: each.end })] : [])),
    ...(error ? [terminal.noteColors.red(error.message)] : unread.length === 0 ? [equalNote] : []),
  ];
  for (const line of notes) terminal.note(line);
  return exitCodeOf(error, read);
}

/** What syncs that did not read everything left unread, and what that would cost; a line for each source. */
function unreadLines(results: readonly OrderResult[]): string[] {
  const partial = results.filter(
    ({ order: { kind, state, reason }, progress: { proven, slices } }) =>
      kind === 'sync' && state === 'done' && reason === null && proven < slices,
  );
  return [...groupBy(partial, ({ order }) => order.source)].map(([source, parts]) => {
    const sum = (of: (progress: OrderResult['progress']) => number) =>
      parts.reduce((all, each) => all + of(each.progress), 0);
    const unread = sum(({ slices, proven }) => slices - proven);
    const slices = sum(each => each.slices);
    const left = sum(each => each.requestsLeft);
    const names = parts.map(each => each.order.resource).join(', ');
    return `Not read again, so not proven as of now: ${count(unread)} of ${plural(slices, 'part')} of ${names}. To read them too: sluice sync --full${sourceOption(source)} (about ${plural(left, 'request')}; waits as long as it takes)`;
  });
}

/** A sync fails if more than one of this many records could not be parsed: then something else than a few bad records is wrong. */
const ONE_IN = 10;

const SEE = 'See: sluice quarantine';

/** Why a command fails although its order is done; to follow the resource's name. Null if it does not. */
export function problemOf(
  order: Pick<OrderSummary, 'kind' | 'state' | 'read' | 'unreadable' | 'listed' | 'missing' | 'quarantined'>,
): string | null {
  const { kind, state, read, unreadable, listed, missing, quarantined } = order;
  if (state !== 'done') return null;
  // A list that is read in passes shows each record several times.
  const records = listed === null ? read : Math.min(read, listed + unreadable);
  if (kind === 'sync' && unreadable * ONE_IN > records)
    return `failed: ${count(unreadable)} of ${plural(records, 'record')} that were read could not be parsed and ${unreadable === 1 ? 'is' : 'are'} in quarantine. ${SEE}`;
  if (kind !== 'verify' || missing + quarantined === 0) return null;
  const rest = [
    ...(quarantined > 0 ? [`${plural(quarantined, 'record')} could not be parsed`] : []),
    ...(missing > 0 ? [`the deletion of ${plural(missing, 'missing row')} is not proven`] : []),
  ];
  return `still differs from the source: ${rest.join(', and ')}.${quarantined > 0 ? ` ${SEE}` : ''}`;
}
