import type { Outcome, Session } from './cli.ts';
import type { Served } from './serve-orders.ts';
import { count, table } from './table.ts';

/** What reading did, by resource, for scripts. */
export function served({ order, work }: Served) {
  return {
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
  const rows = all.map(each => [each.resource, ...columns.map(name => count(each[name])), each.seconds.toFixed(1)]);
  return table(session.terminal.colors, ['resource', ...columns, 'seconds'], rows, {
    right: [1, 2, 3, 4, 5, 6, 7, 8],
  });
}

/** The orders that did not end well, for stderr and the `error` of the document. */
export function failures(all: readonly ServedSummary[]): { kind: string; message: string } | null {
  const bad = all.filter(each => each.state !== 'done');
  if (bad.length === 0) return null;
  const message = bad.map(each => `${each.resource} ${told(each)}`).join('\n');
  return { kind: 'failed', message };
}

function told({ state, reason, order }: ServedSummary): string {
  if (state === 'paused') return `was paused; go on with it: sluice backfill resume ${order}`;
  return `${state}: ${reason ?? 'no reason was recorded'}`;
}

/** Shows what reading did; 1 when something did not end well. */
export function showServed(session: Pick<Session, 'terminal'>, all: readonly Served[]): Outcome {
  const { terminal } = session;
  const resources = all.map(served);
  const error = failures(resources);
  terminal.show({ resources, ...(error ? { error } : {}) }, () => summaryTable(session, resources));
  if (error && !terminal.json) terminal.note(terminal.noteColors.red(error.message));
  return error ? 1 : 0;
}
