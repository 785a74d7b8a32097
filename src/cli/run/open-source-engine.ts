import type { Budget } from '../../budget/budget.ts';
import type { Clock } from '../../clock.ts';
import type { Job } from '../../engine/job.ts';
import type { Engine, LoopEvent } from '../../engine/run/engine.ts';
import { openEngine } from '../../engine/run/open-engine.ts';
import type { SluiceError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Database } from '../../warehouse/database/database.ts';
import type { Retention } from '../../warehouse/ledgers/retention.ts';
import { agendaRules, jobsOf, type OpenSource, openLedger } from '../session/source-settings.ts';

/** Short beside the time that an answer takes, and long enough for several of a source without a limit. */
const GATHER_MS = 20;

/** The engine of one source as the settings describe it. */
export function openSourceEngine(options: {
  database: Database;
  source: OpenSource;
  jobs: ReadonlyMap<string, Job>;
  retention: Retention;
  clock: Clock;
  log: Log;
  noWait: boolean;
  refusal?: SluiceError | null;
  /** Bounds the requests of this process further. */
  limited?: ((ledger: Budget) => Budget) | undefined;
  onEvent: (event: LoopEvent) => void;
}): Promise<Engine & { close(): Promise<void> }> {
  const { source, ...given } = options;
  const { name, schema, settings } = source;
  const ledger = openLedger(given.database, name, settings);
  return openEngine({
    ...given,
    ...settings,
    jobs: jobsOf(source, given.jobs),
    source: name,
    schema,
    gatherMs: GATHER_MS,
    ...agendaRules(source),
    budget: given.limited?.(ledger) ?? ledger,
    forecast: () => ledger.forecast(),
  });
}
