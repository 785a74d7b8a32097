import { explain } from '../../errors.ts';
import { count } from '../../service/format.ts';
import type { Outcome, Session } from '../cli.ts';
import type { Read } from '../run/read-command.ts';
import type { Served } from '../run/serve-orders.ts';
import { table } from './table.ts';

/** What reading did, by resource, for scripts. */
export function served({ order, work }: Served) {
  return {
    source: order.source,
    resource: order.resource,
    order: Number(order.id),
    kind: order.kind,
    state: order.state,
    reason: order.reason,
    new: (work?.inserted ?? 0) + (work?.revived ?? 0),
    changed: work?.updated ?? 0,
    unchanged: work?.unchanged ?? 0,
    deleted: work?.deleted ?? 0,
    missing: work?.missingNow ?? 0,
    quarantined: work?.quarantined ?? 0,
    requests: work?.requests ?? 0,
    seconds: Math.round((work?.seconds ?? 0) * 10) / 10,
  };
}

export type ServedSummary = ReturnType<typeof served>;

/** The summary as a table. */
export function summaryTable(session: Pick<Session, 'terminal'>, all: readonly ServedSummary[]): string {
  const columns = ['new', 'changed', 'unchanged', 'deleted', 'missing', 'quarantined', 'requests'] as const;
  const name = nameIn(all);
  const rows = all.map(each => [name(each), ...columns.map(column => count(each[column])), each.seconds.toFixed(1)]);
  return table(session.terminal.colors, ['resource', ...columns, 'seconds'], rows, {
    right: [1, 2, 3, 4, 5, 6, 7, 8],
  });
}

/** How lines name a resource: with its source where several were read. */
export function nameIn(all: readonly { source: string }[]): (each: { source: string; resource: string }) => string {
  const several = all.some(each => each.source !== all[0]?.source);
  return ({ source, resource }) => (several ? `${source} ${resource}` : resource);
}

/** The orders and sources that did not end well, for stderr and the `error` of the document. */
export function failures(
  all: readonly ServedSummary[],
  failed: Read['failed'] = [],
): { kind: string; message: string } | null {
  const bad = all.filter(each => each.state !== 'done');
  if (bad.length + failed.length === 0) return null;
  const name = nameIn(all);
  const lines = [
    ...bad.map(each => `${name(each)} ${told(each)}`),
    ...failed.map(({ source, error }) => `${source}: ${explain(error)}`),
  ];
  return { kind: bad[0] ? 'failed' : (failed[0]?.error.kind ?? 'failed'), message: lines.join('\n') };
}

/** 1 when something did not end well; 75 when all of that was stopped at the limit. */
export function outcomeOf(error: object | null, { served, failed }: Read): Outcome {
  if (error === null) return 0;
  const quota = failed.length > 0 && failed.every(each => each.error.kind === 'quota');
  return quota && served.every(each => each.order.state === 'done') ? 75 : 1;
}

function told({ state, reason, order }: ServedSummary): string {
  if (state === 'paused') return `was paused; go on with it: sluice backfill resume ${order}`;
  // Put back after a failure, it is the service's.
  if (state === 'waiting' && reason !== null)
    return `failed for now, and the running service tries again in ten minutes: ${reason}`;
  return `${state}: ${reason ?? 'no reason was recorded'}`;
}

/** Shows what reading did. */
export function showServed(session: Pick<Session, 'terminal'>, read: Read): Outcome {
  const { terminal } = session;
  const resources = read.served.map(served);
  const error = failures(resources, read.failed);
  terminal.show({ resources, ...(error ? { error } : {}) }, () => summaryTable(session, resources));
  const name = nameIn(resources);
  for (const each of resources)
    if (each.state === 'done' && each.reason !== null && !terminal.json) terminal.note(`${name(each)}: ${each.reason}`);
  if (error && !terminal.json) terminal.note(terminal.noteColors.red(error.message));
  return outcomeOf(error, read);
}
