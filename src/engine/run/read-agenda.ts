import type { Database } from '../../warehouse/database/database.ts';
import { databaseNow } from '../../warehouse/database/now.ts';
import { readSourceCoverage } from '../../warehouse/ledgers/coverage.ts';
import { readTraits } from '../../warehouse/ledgers/traits.ts';
import { holdsMissing, listMissing, type MissingRow } from '../../warehouse/rows/missing-rows.ts';
import { tableIn } from '../../warehouse/rows/tables.ts';
import type { ListInUse } from '../agenda/choice.ts';
import type { NamedList } from '../agenda/closed-months.ts';
import { type AgendaList, type AgendaRules, factsOf, shownWish } from '../agenda/list-facts.ts';
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
  const lists: AgendaList[] = [];
  for (const list of all) {
    if (!scheduled.includes(list.name)) continue;
    const missing = schema === undefined ? [] : await readMissing(database, source, schema, list);
    lists.push({ list, wish: shownWish(now), missing });
  }
  return factsOf(rules, lists, all, now);
}

async function readMissing(
  { kysely }: Database,
  source: string,
  schema: string,
  { name, job, strategy }: AgendaList['list'],
): Promise<readonly MissingRow[]> {
  const place = { source, resource: name };
  if (!(await holdsMissing(kysely, place))) return [];
  return listMissing(kysely, place, tableIn(schema, declareTable(name, job)), strategy);
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
