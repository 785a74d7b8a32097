import type { Incident } from '../../warehouse/ledgers/incidents.ts';
import type { OrderState } from '../../warehouse/ledgers/orders.ts';
import type { RunState } from '../../warehouse/ledgers/runs.ts';

/** As much of a source as its condition depends on. */
export type JudgedSource = { readonly name: string } & (
  | {
      readonly status: {
        readonly incidents: readonly Incident[];
        readonly runs: readonly {
          readonly state: RunState;
          readonly reason: string | null;
          readonly waitingUntil: string | null;
        }[];
        readonly resources: readonly { readonly neverRead: number; readonly absent: boolean }[];
        readonly orders: readonly { readonly state: OrderState }[];
      };
      readonly upToDateAt: number | null;
    }
  | { readonly unreadable: string }
);

/** How a source is, the worst first: the order in which the verdict looks for trouble. */
export type Condition = 'unreadable' | 'trouble' | 'waiting' | 'first sync' | 'idle' | 'order running' | 'up to date';

export function conditionOf(facts: JudgedSource): Condition {
  if ('unreadable' in facts) return 'unreadable';
  const { incidents, runs, resources, orders } = facts.status;
  if (incidents.length > 0) return 'trouble';
  if (runs.some(run => run.state === 'waiting')) return 'waiting';
  if (resources.some(each => each.neverRead > 0 && !each.absent)) return 'first sync';
  // Without a tick nothing says that all that is due was read.
  if (facts.upToDateAt === null) return 'idle';
  return orders.some(order => order.state === 'running') ? 'order running' : 'up to date';
}
