import { HOUR } from '../../../clock.ts';
import { isAffordable, rereadCost } from '../../agenda/affordable.ts';
import { monthsHold } from '../../agenda/past-months.ts';
import type { Share } from '../../task/apply-event.ts';
import type { Task } from '../../task/task.ts';
import { isSeenLately } from '../limit-seen.ts';
import type { Act, State } from '../state.ts';
import { hasUnread } from './task-act.ts';

/**
 * Decides once for each sync whether it reads everything again, as soon as every list was read in full for the first time. One that does
 * not spends what is left of the limit; one that gets none of it ends, so that nobody waits for it.
 */
export function shareLimit({ tasks, lists, rules, limit, now, granted }: State): Act | null {
  const syncs = tasks.filter(task => task.kind === 'sync');
  const undecided = syncs.filter(({ state }) => state.readsAll === null && state.closed === null);
  if (undecided.length === 0 || syncs.some(hasUnread)) return null;
  if (limit === null || !isSeenLately(rules, limit, now)) return { kind: 'look at the limit' };
  const free = limit.forecast.free - (granted - limit.granted);
  const { weights = {}, windowMs } = rules;
  const requests = undecided.reduce(
    (sum, { resource, since }) => sum + rereadCost(resource, since, monthsHold(resource, lists, now)),
    0,
  );
  const everything = isAffordable(requests, { hourly: (rules.limit * HOUR) / windowMs, free });
  const weightOf = ({ resource }: Task) => (weights[resource.name] ?? 1) || 1;
  let all = undecided.reduce((sum, task) => sum + weightOf(task), 0);
  let left = Math.max(free, 0);
  const shares = new Map<Task, Share>();
  for (const task of undecided) {
    const share = Math.round((left * weightOf(task)) / all);
    left -= share;
    all -= weightOf(task);
    // Rows whose deletion was accepted have to be confirmed, even if that means to wait.
    const most = task.state.accepted > 0 ? Math.max(share, 1) : share;
    // With --no-wait, the first request that would wait reports it.
    const isNothing = free < 1 && most === 0 && !rules.noWait;
    shares.set(task, everything ? 'everything' : isNothing ? null : most);
  }
  return { kind: 'share', shares };
}
