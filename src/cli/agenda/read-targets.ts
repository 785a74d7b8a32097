import type { SourceConfig } from '../../config/config.ts';
import { needsOf } from '../../engine/agenda/list-facts.ts';
import type { Job } from '../../engine/job.ts';
import { readAgenda } from '../../engine/run/agenda/read-agenda.ts';
import type { Database } from '../../warehouse/database/database.ts';
import { agendaRules, schedulesOf } from '../session/source-settings.ts';
import { type DescribedTarget, describeTargets } from './describe-targets.ts';

/** The targets of a source, as far as its lists are known. `limit`: what the source allows now. */
export async function readTargets(
  database: Database,
  source: SourceConfig,
  jobs: ReadonlyMap<string, Job>,
  limit = source.limit,
): Promise<DescribedTarget[]> {
  const rules = { ...agendaRules(source), limit };
  if (Object.keys(rules.targets).length === 0) return [];
  const scheduled = [...schedulesOf(source, jobs).keys()];
  const facts = await readAgenda(database, { name: source.name, jobs, scheduled, rules });
  return describeTargets(rules, needsOf(rules, facts));
}
