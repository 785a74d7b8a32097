import type { Usage } from '../../budget/ledger/usage.ts';
import { HOUR, SECOND } from '../../clock.ts';
import { expectedDelays } from '../../engine/agenda/expected-delay.ts';
import { hourlyLimit } from '../../engine/agenda/list-facts.ts';
import { partsOf } from '../../engine/agenda/parts.ts';
import { readAgenda } from '../../engine/run/read-agenda.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { measuredDelay } from '../../warehouse/reports/activity.ts';
import type { ServedSource } from './served-source.ts';

/** How long a change of a resource takes to arrive, in seconds. */
export interface ResourceDelay {
  readonly resource: string;
  /** While a service runs. Null without a schedule, and while a part of the resource was never read. */
  readonly expected: { readonly meanSeconds: number; readonly within95Seconds: number } | null;
  /** The mean of the last 24 hours; null where rows do not tell when they changed, and where none has. */
  readonly measuredSeconds: number | null;
  /** The mean that the settings ask for. */
  readonly targetSeconds: number | null;
}

/** `usage`: the limit as it is now; null where the source's address or key is not set. */
export async function readDelays(
  database: Database,
  source: Pick<ServedSource, 'name' | 'schema' | 'jobs' | 'scheduled' | 'rules'>,
  usage: Usage | null,
): Promise<ResourceDelay[]> {
  const { name, schema, jobs } = source;
  const rules = { ...source.rules, limit: usage?.limit ?? source.rules.limit };
  const facts = await readAgenda(database, { ...source, rules });
  const expected = expectedDelays(
    facts.map(each => ({ name: each.list.name, parts: partsOf(each), weight: each.weight })),
    hourlyLimit(rules),
    facts[0]?.mostAge ?? Number.POSITIVE_INFINITY,
  );
  const delays = [];
  for (const [resource, { updatedAt }] of jobs) {
    const delay = expected.get(resource);
    const target = rules.targets?.[resource];
    delays.push({
      resource,
      expected: delay ? { meanSeconds: seconds(delay.mean), within95Seconds: seconds(delay.within95) } : null,
      measuredSeconds:
        updatedAt === null ? null : await measuredDelay(database.kysely, { source: name, resource, schema }, updatedAt),
      targetSeconds: target === undefined ? null : seconds(target),
    });
  }
  return delays;
}

/** To the tenth. */
const seconds = (hours: number): number => Math.round((hours * HOUR * 10) / SECOND) / 10;
