import type { HttpBindings } from '@hono/node-server';
import type { Clock } from '../../src/clock.ts';
import type { Webhooks } from '../changes/webhooks.ts';
import type { BadDay } from '../faults/bad-days.ts';
import type { FaultChooser } from '../faults/choose-fault.ts';
import type { ListFault } from '../faults/fault-kinds.ts';
import type { AddFields } from '../lists/render-row.ts';
import type { RateLimit } from '../rate-limit/rate-limit.ts';
import type { Timeline } from '../timeline/timeline.ts';
import type { Variants } from '../variants/variants.ts';
import type { RequestLog } from './request-log.ts';

/** The types of a Hono app: Node's request and response, the list fault that the middleware chose, and how old a state it reads. */
export type Env = { Bindings: HttpBindings; Variables: { fault?: ListFault; lagMs: number } };

/** What the routes and the middleware work with. */
export interface AppDependencies {
  apiKey: string;
  clock: Clock;
  latencyMs: number;
  rateLimit: RateLimit;
  log: RequestLog;
  faults: FaultChooser;
  webhooks: Webhooks;
  timeline: Timeline;
  readonly variants: () => Variants;
  readonly badDay: () => BadDay | null;
  readonly addFields: AddFields;
}
