import type { Database } from '../../warehouse/database/database.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import { readSourceCoverage } from '../../warehouse/ledgers/coverage.ts';
import { readTraits } from '../../warehouse/ledgers/traits.ts';
import { readExceptions } from '../../warehouse/rows/exceptions.ts';
import { listMissing, type MissingRow } from '../../warehouse/rows/missing-rows.ts';
import { tableIn } from '../../warehouse/rows/tables.ts';
import type { ListInUse } from '../agenda/choice.ts';
import { type AgendaList, type AgendaRules, factsOf, shownWish } from '../agenda/list-facts.ts';
import type { NamedList } from '../agenda/past-months.ts';
import type { AgendaFacts } from '../agenda/questions.ts';
import type { Job } from '../job.ts';
import { profileOf } from '../profile/source-profile.ts';
import { strategyFor } from '../profile/strategy.ts';
import { declareTable } from '../records/declare-table.ts';
import { sliceText } from '../slices/slice.ts';

/** A source whose agenda is shown. */
export interface ShownSource {
  readonly name: string;
  readonly jobs: ReadonlyMap<string, Job>;
  /** Resources with a schedule: the others are not on the agenda. */
  readonly scheduled: readonly string[];
  readonly rules: AgendaRules;
}

/**
 * What decides about the agenda of a source, as stored now; reads the database only. With `schema`, that of its rows, missing rows are
 * included: they matter for questions that confirm deletions, and for nothing else.
 */
export async function readAgenda(
  database: Database,
  { name: source, jobs, scheduled, rules }: ShownSource,
  schema?: string,
): Promise<(AgendaFacts & AgendaList)[]> {
  const all = await readLists(database, source, jobs);
  const now = await databaseNow(database);
  const shown = all.filter(({ name }) => scheduled.includes(name));
  const missing = schema === undefined ? null : await readMissing(database, source, schema, shown);
  const lists = shown.map(
    (list): AgendaList => ({ list, wish: shownWish(now), missing: missing?.get(list.name) ?? [] }),
  );
  return factsOf(rules, lists, all, now);
}

/** By resource; without those that lack none. */
async function readMissing(
  { kysely }: Database,
  source: string,
  schema: string,
  lists: readonly AgendaList['list'][],
): Promise<Map<string, readonly MissingRow[]>> {
  const missing = new Map<string, readonly MissingRow[]>();
  const exceptions = await readExceptions(
    kysely,
    source,
    lists.map(({ name }) => name),
  );
  for (const { name, job, strategy } of lists)
    if (exceptions.get(name)?.isMissing)
      missing.set(
        name,
        await listMissing(kysely, { source, resource: name }, tableIn(schema, declareTable(name, job)), strategy),
      );
  return missing;
}

/** What is known of the lists of a source, as stored now, for those who show it. Two statements for all of them. */
async function readLists(
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
