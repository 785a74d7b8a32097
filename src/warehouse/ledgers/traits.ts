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

export async function writeTrait(tx: Db, source: string, trait: Trait): Promise<void> {
  const { resource, value, evidence } = trait;
  await tx
    .insertInto('sluice.traits')
    .values({ source, resource, trait: trait.trait, value, evidence, learned_at: NOW })
    .onConflict(conflict =>
      conflict.columns(['source', 'resource', 'trait']).doUpdateSet(eb => ({
        value: eb.ref('excluded.value'),
        evidence: eb.ref('excluded.evidence'),
        learned_at: eb.ref('excluded.learned_at'),
      })),
    )
    .execute();
}
