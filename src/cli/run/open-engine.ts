import { createWaiting } from '../../budget/waiting.ts';
import type { Clock } from '../../clock.ts';
import type { Job } from '../../engine/job.ts';
import { openResource } from '../../engine/resource.ts';
import type { Engine, LoopEvent } from '../../engine/run/engine.ts';
import type { SluiceError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { openClient } from '../../source/client.ts';
import type { Database } from '../../warehouse/database/database.ts';
import type { Retention } from '../../warehouse/ledgers/retention.ts';
import { type OpenSource, openLedger } from '../source-settings.ts';

/** Everything a source's loop needs. What is known of its slices may be old: the loop reads it anew under the source's lock. */
export async function openEngine(options: {
  database: Database;
  source: OpenSource;
  jobs: ReadonlyMap<string, Job>;
  retention: Retention;
  clock: Clock;
  log: Log;
  noWait: boolean;
  refusal?: SluiceError | null;
  onEvent: (event: LoopEvent) => void;
}): Promise<Engine & { close(): Promise<void> }> {
  const { database, clock, log, retention } = options;
  const { name: source, schema, settings, schedules } = options.source;
  // What is never read by schedule leaves its part to the others.
  const off = Object.keys(schedules).filter(resource => schedules[resource] === 'off');
  const weights = { ...options.source.weights, ...Object.fromEntries(off.map(resource => [resource, 0])) };
  const resources = await Promise.all(
    [...options.jobs].map(([name, job]) => openResource(database, { source, name, job, schema })),
  );
  const waiting = createWaiting(clock);
  const client = openClient({
    ...settings,
    budget: openLedger(database, source, settings),
    noWait: options.noWait,
    onWait: (lane, waitMs) => waiting.note(waitMs, lane),
    onRetry: (came, waitMs) => options.onEvent({ kind: 'retrying', came, waitMs }),
    clock,
    log,
  });
  return {
    source,
    resources,
    database,
    client,
    clock,
    log,
    waiting,
    refusal: options.refusal ?? null,
    onEvent: options.onEvent,
    timeZone: settings.timeZone,
    pageSize: settings.pageSize,
    concurrency: settings.concurrency,
    limit: settings.limit,
    windowMs: settings.windowMs,
    weights,
    retention,
    close: () => client.close(),
  };
}
