import type { Database } from '../../../warehouse/database/database.ts';
import { readSourceCoverage } from '../../../warehouse/ledgers/coverage.ts';
import { readTraits } from '../../../warehouse/ledgers/traits.ts';
import type { ListInUse } from '../../agenda/choice.ts';
import type { NamedList } from '../../agenda/closed-months.ts';
import type { Job } from '../../job.ts';
import { profileOf } from '../../profile/source-profile.ts';
import { strategyFor } from '../../profile/strategy.ts';
import { sliceText } from '../../slices/slice.ts';

/** What is known of the lists of a source, as stored now, for those who show it. Two statements for all of them. */
export async function readLists(
  database: Database,
  source: string,
  jobs: ReadonlyMap<string, Job>,
): Promise<(NamedList & ListInUse)[]> {
  const coverage = await readSourceCoverage(database.kysely, source);
  const traits = await readTraits(database.kysely, source);
  return [...jobs].map(([name, job]) => {
    const profile = profileOf(traits.filter(trait => trait.resource === name));
    return {
      name,
      job,
      profile,
      strategy: strategyFor(profile, job),
      entries: new Map((coverage.get(name) ?? []).map(entry => [sliceText(entry.slice), entry])),
      total: undefined,
      reading: new Set(),
    };
  });
}
