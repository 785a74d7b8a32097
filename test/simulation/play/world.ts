import type { Random } from '../../../sandbox/data/random.ts';
import type { Sandbox } from '../../../sandbox/sandbox.ts';
import type { Job } from '../../../src/engine/job.ts';
import type { Database } from '../../../src/warehouse/database/database.ts';
import type { VirtualClock } from '../../support/virtual-clock.ts';
import type { Declaration } from '../plan/choose-declarations.ts';
import type { Plan } from '../plan/plan.ts';
import type { Process } from './process.ts';
import type { Watch } from './watch.ts';

/** Everything that exists while a seed is played. */
export interface World {
  readonly plan: Plan;
  readonly url: string;
  readonly database: Database;
  readonly sandbox: Sandbox;
  readonly clock: VirtualClock;
  readonly watch: Watch;
  readonly problems: string[];
  readonly processes: Set<Process>;
  /** Decides what happens while the engine runs. Separate from the plan's stream, so that the plan never depends on the run. */
  readonly random: Random;
  readonly trace: (text: string) => void;
  /** Changes of the source that it does not list itself; `at` in epoch ms. */
  readonly edits: { readonly resource: string; readonly id: number; readonly at: number }[];
  /** What processes start with; the declaration is null where the source sends no custom fields. */
  declaration: Declaration | null;
  jobs: ReadonlyMap<string, Job>;
  /** What the source has shown of its customers. */
  readonly people: { readonly email: Set<string>; readonly phone: Set<string> };
  /** Lines that processes have logged. */
  readonly log: string[];
  /** Processes that ended early. */
  crashes: number;
}
