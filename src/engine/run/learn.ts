import { writeTrait } from '../../warehouse/ledgers/traits.ts';
import type { Observation } from '../profile/observation.ts';
import { withObservation } from '../profile/source-profile.ts';
import { adopt, type Resource } from '../resource.ts';
import type { Engine } from './engine.ts';

/** Stores what a whole task showed of a list. From now on the list is read accordingly. */
export async function learn({ database, source }: Engine, resource: Resource, observation: Observation): Promise<void> {
  await writeTrait(database.kysely, source, { resource: resource.name, ...observation });
  adopt(resource, withObservation(resource.profile, observation));
}
