import { HOUR, SECOND } from '../../clock.ts';
import type { SourceConfig } from '../../config/config.ts';
import { type AgendaRules, hourlyLimit, needsOf } from '../../engine/agenda/list-facts.ts';
import { MOST_FOR_TARGETS, type Need } from '../../engine/agenda/target-weights.ts';
import type { Job } from '../../engine/job.ts';
import { readAgenda } from '../../engine/run/read-agenda.ts';
import { count, durationText } from '../../service/format.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { watchedSource } from '../session/source-settings.ts';

/** The targets of a source, as far as its lists are known. `limit`: what the source allows now. */
export async function readTargets(
  database: Database,
  source: SourceConfig,
  jobs: ReadonlyMap<string, Job>,
  limit = source.limit,
): Promise<ReturnType<typeof describeTargets>> {
  const watched = watchedSource(source, jobs);
  const rules = { ...watched.rules, limit };
  if (Object.keys(rules.targets).length === 0) return [];
  const facts = await readAgenda(database, { ...watched, rules });
  return describeTargets(rules, needsOf(rules, facts));
}

export const TARGET_NEXT = 'Raise the target, or the request limit if the source allows more.';

/** Whether the request limit allows the targets. `needs`: what they take, as far as it is known; the rest has null for the cost. */
export function describeTargets({ targets = {}, weights = {}, ...limits }: AgendaRules, needs: readonly Need[]) {
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
