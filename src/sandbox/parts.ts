import type { HttpBindings } from '@hono/node-server';
import type { Clock } from '../clock.ts';
import type { Data } from './data.ts';
import type { Edits } from './edits.ts';
import type { ListFault } from './fault-kinds.ts';
import type { Faults } from './faults.ts';
import type { Gate } from './gate.ts';
import type { AnswerList } from './lists.ts';
import type { Traffic } from './traffic.ts';
import type { Variants } from './variants.ts';
import type { Webhooks } from './webhooks.ts';

export type Env = { Bindings: HttpBindings; Variables: { fault?: ListFault } };

/** What the routes work with. */
export interface AppParts {
  apiKey: string;
  clock: Clock;
  latencyMs: number;
  data: Data;
  edits: Edits;
  lists: AnswerList;
  gate: Gate;
  traffic: Traffic;
  faults: Faults;
  webhooks: Webhooks;
  /** The source's own time, in milliseconds since the epoch. */
  now(): number;
  variants(): Variants;
  /** Lets due changes happen before a request is answered. */
  catchUp(): void;
  /** Rows are inserted, edited and deleted. */
  change(): void;
}
