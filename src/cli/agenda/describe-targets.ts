import { HOUR, SECOND } from '../../clock.ts';
import { type AgendaRules, hourlyLimit } from '../../engine/agenda/list-facts.ts';
import { MOST_FOR_TARGETS, type Need } from '../../engine/agenda/target-weights.ts';
import { count, durationText } from '../../service/format.ts';

/** A target of freshness, and whether the request limit allows it. */
export interface DescribedTarget {
  readonly resource: string;
  readonly targetSeconds: number;
  /** Null while it is not known what it takes: the resource was never read in full, or has no schedule. */
  readonly requestsAnHour: number | null;
  /** The mean delay that the limit allows. */
  readonly reachableSeconds: number | null;
  readonly feasible: boolean | null;
  readonly text: string;
}

/** What to do about a target that is not feasible. */
export const TARGET_NEXT = 'Raise the target, or the request limit if the source allows more.';

/** `needs`: those of the targets that are known. */
export function describeTargets(
  { targets = {}, weights = {}, ...limits }: AgendaRules,
  needs: readonly Need[],
): DescribedTarget[] {
  const limit = hourlyLimit(limits);
  const share = `${requests(MOST_FOR_TARGETS * limit)} of ${requests(limit)}`;
  const together = needs.reduce((sum, each) => sum + each.requestsAnHour, 0);
  return Object.entries(targets).map(([resource, target]) => {
    const wanted = `${resource} within ${durationText(seconds(target))} on average`;
    const need = needs.find(each => each.name === resource);
    const known = { resource, targetSeconds: seconds(target) };
    if (!need) {
      const why =
        weights[resource] === 0
          ? 'no effect, because the schedule of the resource is off'
          : 'not known yet what it needs, because the resource was never read in full';
      return { ...known, requestsAnHour: null, reachableSeconds: null, feasible: null, text: `${wanted}: ${why}` };
    }
    const feasible = need.reachable <= target;
    const needed = `${wanted} needs ${requests(need.requestsAnHour)} requests an hour`;
    const others = needs.length > 1 ? `all targets together need ${requests(together)} and` : 'targets';
    const reached = durationText(seconds(need.reachable));
    return {
      ...known,
      requestsAnHour: Math.ceil(need.requestsAnHour),
      reachableSeconds: seconds(need.reachable),
      feasible,
      text: feasible
        ? `${needed}, which the limit of ${requests(limit)} allows`
        : `${needed}; ${others} can have ${share}, so expect ${reached}`,
    };
  });
}

const requests = (value: number): string => count(Math.ceil(value));
const seconds = (hours: number): number => Math.round((hours * HOUR) / SECOND);
