import type { HttpBindings } from '@hono/node-server';
import type { Clock } from '../../clock.ts';
import type { Webhooks } from '../changes/webhooks.ts';
import type { Faults } from '../faults/choose-fault.ts';
import type { ListFault } from '../faults/fault-kinds.ts';
import type { Gate } from '../rate-limit/rate-limit.ts';
import type { World } from '../timeline/dataset.ts';
import type { Variants } from '../variants/variants.ts';
import type { Traffic } from './request-log.ts';

export type Env = { Bindings: HttpBindings; Variables: { fault?: ListFault } };

/** What the routes work with. */
export interface AppParts {
  apiKey: string;
  clock: Clock;
  latencyMs: number;
  gate: Gate;
  traffic: Traffic;
  faults: Faults;
  webhooks: Webhooks;
  /** The rows as they are now. */
  world(): World;
  /** The source's own time, in milliseconds since the epoch. */
  now(): number;
  variants(): Variants;
  /** Lets due changes happen before a request is answered. */
  catchUp(): void;
  /** Rows are inserted, edited and deleted. */
  change(): void;
}
