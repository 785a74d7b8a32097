import { sql } from 'kysely';
import type { Db } from '../database/database.ts';

/** What a list of this source was found to do, with the evidence in plain words. */
export interface Trait {
  readonly resource: string;
  readonly trait: string;
  readonly value: string;
  readonly evidence: string;
}

export async function readTraits(db: Db, source: string): Promise<Trait[]> {
  const { rows } = await sql<Trait>`select resource, trait, value, evidence from sluice.traits
    where source = ${source} order by resource, trait`.execute(db);
  return rows;
}

export async function writeTrait(tx: Db, source: string, trait: Trait): Promise<void> {
  await sql`insert into sluice.traits (source, resource, trait, value, evidence, learned_at)
    values (${source}, ${trait.resource}, ${trait.trait}, ${trait.value}, ${trait.evidence}, sluice.now())
    on conflict (source, resource, trait) do update set value = excluded.value, evidence = excluded.evidence,
      learned_at = excluded.learned_at`.execute(tx);
}
