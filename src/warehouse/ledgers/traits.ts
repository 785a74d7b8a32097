import { type RawBuilder, sql } from 'kysely';
import { arrayOf } from '../database/arrays.ts';
import type { Db } from '../database/database.ts';
import { NOW } from '../database/now.ts';

/** How a list of this source was observed to behave, with the evidence in plain words. */
export interface Trait {
  readonly resource: string;
  readonly trait: string;
  readonly value: string;
  readonly evidence: string;
}

export function readTraits(db: Db, source: string): Promise<Trait[]> {
  return db
    .selectFrom('sluice.traits')
    .select(['resource', 'trait', 'value', 'evidence'])
    .where('source', '=', source)
    .orderBy('resource')
    .orderBy('trait')
    .execute();
}

export async function writeTrait(db: Db, source: string, trait: Trait): Promise<void> {
  await sql`with ${traitCtes(source, [trait])} select`.execute(db);
}

/** A CTE that stores traits on a condition; each may be given once. SQL: any number of them in one statement. */
export function traitCtes(
  source: string,
  traits: readonly Trait[],
  condition: RawBuilder<boolean> = sql`true`,
): RawBuilder<unknown> {
  const column = (name: keyof Trait) =>
    arrayOf(
      'text',
      traits.map(trait => trait[name]),
    );
  return sql`
    learnt as (
      insert into sluice.traits as t (source, resource, trait, value, evidence, learned_at)
      select ${source}, n.*, ${NOW}
      from unnest(${column('resource')}, ${column('trait')}, ${column('value')}, ${column('evidence')}) as n
      where ${condition}
      on conflict (source, resource, trait) do update
      set value = excluded.value, evidence = excluded.evidence, learned_at = excluded.learned_at)`;
}
